//! Apps as operators see them, and the switch that they have.

use db::Error;
use ledger::OperatorAction;
use records::{Timestamp, UserId};

use crate::Operations;

/// An app as an operator sees it: addresses and counts, never a secret.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct OperatorApp {
    #[sqlx(rename = "app_id")]
    pub id: String,
    #[sqlx(rename = "user_id")]
    pub owner: String,
    pub name: String,
    /// `private` or `public`.
    pub visibility: String,
    /// What paths are resolved against.
    pub home_url: Option<String>,
    pub manifest_url: Option<String>,
    pub webhook_url: Option<String>,
    pub manifest: Option<String>,
    pub manifest_fetched_at: Option<Timestamp>,
    /// Since when its server has not answered.
    pub failing_since: Option<Timestamp>,
    pub switched_off_at: Option<Timestamp>,
    pub switched_off_reason: Option<String>,
    pub created_at: Timestamp,
    /// How many users have it installed.
    pub installs: i64,
}

impl Operations {
    /// Apps of one user or of all, newest first, from behind a place on.
    pub async fn operator_apps(
        &self,
        user: Option<&UserId>,
        id: Option<&str>,
        before: Option<&(Timestamp, String)>,
        limit: i64,
    ) -> Result<Vec<OperatorApp>, Error> {
        Ok(sqlx::query_as(include_str!("../sql/apps/operator_list.sql"))
            .bind(user.map(UserId::as_str))
            .bind(id)
            .bind(limit)
            .bind(before.map(|(at, _)| at))
            .bind(before.map(|(_, id)| id))
            .fetch_all(self.db.pool())
            .await?)
    }

    /// Switches an app off: it is not called and may not write, until it is switched on again. `false`: no such app.
    pub async fn switch_off_app(&self, id: &str, action: &OperatorAction) -> Result<bool, Error> {
        let (mut transaction, now) = self.db.begin().await?;
        let owner: Option<String> = sqlx::query_scalar(include_str!("../sql/apps/switch_off.sql"))
            .bind(id)
            .bind(now)
            .bind(&action.reason)
            .fetch_optional(&mut *transaction)
            .await?;
        let Some(owner) = owner.map(UserId::new) else { return Ok(false) };
        action.record(&mut transaction, "switch_off_app", Some(&owner), id, now).await?;
        transaction.commit().await?;
        Ok(true)
    }

    /// Switches an app on again. `false`: no such app.
    pub async fn switch_on_app(&self, id: &str, action: &OperatorAction) -> Result<bool, Error> {
        let (mut transaction, now) = self.db.begin().await?;
        let owner: Option<String> = sqlx::query_scalar(include_str!("../sql/apps/switch_on.sql"))
            .bind(id)
            .bind(now)
            .fetch_optional(&mut *transaction)
            .await?;
        let Some(owner) = owner.map(UserId::new) else { return Ok(false) };
        action.record(&mut transaction, "switch_on_app", Some(&owner), id, now).await?;
        transaction.commit().await?;
        Ok(true)
    }
}

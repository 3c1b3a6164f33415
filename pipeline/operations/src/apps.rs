//! Apps as operators see them, and the switch that they have.

use db::{Error, query_as, query_scalar};
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
        Ok(query_as!(
            "apps/operator_list.sql",
            user,
            id,
            limit,
            before.map(|(at, _)| at),
            before.map(|(_, id)| id)
        )
        .fetch_all(self.db.pool())
        .await?)
    }

    /// Switches an app off, or on again: one that is off is not called and may not write. `false`: no such app.
    pub async fn switch_app(&self, id: &str, is_on: bool, action: &OperatorAction) -> Result<bool, Error> {
        let (mut transaction, now) = self.db.begin().await?;
        let owner: Option<String> = query_scalar!("apps/switch.sql", id, now, is_on, &action.reason)
            .fetch_optional(&mut *transaction)
            .await?;
        let Some(owner) = owner.map(UserId::new) else { return Ok(false) };
        let verb = if is_on { "switch_on_app" } else { "switch_off_app" };
        action.record(&mut transaction, verb, Some(&owner), id, now).await?;
        transaction.commit().await?;
        Ok(true)
    }
}

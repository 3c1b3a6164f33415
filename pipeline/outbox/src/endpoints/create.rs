//! Making an endpoint: each person has their own twenty, also of two that are made at once.

use db::{Error, lock_user, secrets::Context};
use records::UserId;

use super::{Endpoint, NewEndpoint, row::EndpointRow};
use crate::Outbox;

/// How many a user may have (DECISIONS §6): every event is sent to each of them, at the cost of all users' turns.
const MOST: i64 = 20;

/// Why an endpoint is not made. Nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndpointRefusal {
    /// The user has as many endpoints as one may have.
    TooMany,
    /// The user has one with this URL, and `force` was not asked for.
    SameUrl,
}

impl Outbox {
    /// Stores an endpoint. Those of installed apps do not count; those that are switched off count, too: they can be switched on again at any time.
    pub async fn create_endpoint(
        &self,
        user: &UserId,
        new: &NewEndpoint,
    ) -> Result<Result<Endpoint, EndpointRefusal>, Error> {
        let events: Vec<&str> = new.events.iter().map(|event| event.as_str()).collect();
        let secret = self.db.secrets().seal(Context::endpoint(user.as_str(), &new.id), &new.secret)?;
        let (mut transaction, _) = self.db.begin_creating(&[&new.id]).await?;
        lock_user(&mut transaction, user).await?;
        let (others, same_url): (i64, bool) =
            sqlx::query_as(include_str!("../../sql/endpoints/count_own.sql"))
                .bind(user.as_str())
                .bind(&new.url)
                .fetch_one(&mut *transaction)
                .await?;
        if same_url && !new.force {
            return Ok(Err(EndpointRefusal::SameUrl));
        }
        if others >= MOST {
            return Ok(Err(EndpointRefusal::TooMany));
        }
        let row: EndpointRow = sqlx::query_as(include_str!("../../sql/endpoints/create.sql"))
            .bind(user.as_str())
            .bind(&new.id)
            .bind(&new.url)
            .bind(events)
            .bind(new.format.as_str())
            .bind(secret)
            .fetch_one(&mut *transaction)
            .await?;
        transaction.commit().await?;
        row.try_into().map(Ok)
    }
}

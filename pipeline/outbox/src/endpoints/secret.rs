//! Replacing an endpoint's secret without a moment in which its owner can verify nothing.

use db::{Error, secrets::Context};
use records::UserId;
use secrecy::SecretString;

use super::{Endpoint, row::EndpointRow};
use crate::Outbox;

impl Outbox {
    /// Gives an endpoint a new secret. For 24 hours deliveries carry a signature of each, the new one first. Said once more
    /// within that time, it replaces the new one alone: the answer that held it may have been lost, and what receivers have
    /// signs until its 24 hours are over. `None`: no such endpoint.
    pub async fn rotate_secret(
        &self,
        user: &UserId,
        id: &str,
        secret: &SecretString,
    ) -> Result<Option<Endpoint>, Error> {
        let sealed = self.db.secrets().seal(Context::endpoint(user.as_str(), id), secret)?;
        let row: Option<EndpointRow> = sqlx::query_as(include_str!("../../sql/endpoints/rotate_secret.sql"))
            .bind(user.as_str())
            .bind(id)
            .bind(sealed)
            .fetch_optional(self.db.pool())
            .await?;
        row.map(Endpoint::try_from).transpose()
    }
}

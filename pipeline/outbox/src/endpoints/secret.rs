//! Replacing an endpoint's secret without a moment in which its owner can verify nothing.

use db::{Doing, Error, secrets::Context};
use records::UserId;
use secrecy::SecretString;

use super::{Endpoint, row::EndpointRow};
use crate::Outbox;

impl Outbox {
    /// Gives an endpoint a new secret. For 24 hours deliveries carry a signature of each, the new one first. Said once more
    /// within that time, it replaces the new one alone: the answer that held it may have been lost, and what receivers have
    /// signs until its 24 hours are over. `None`: no such endpoint.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn rotate_secret(
        &self,
        user: &UserId,
        id: &str,
        secret: &SecretString,
    ) -> Result<Option<Endpoint>, Error> {
        let sealed = self.db.secrets().seal(Context::endpoint(user.as_str(), id), secret)?;
        let row: Option<EndpointRow> = sqlx::query_as(
            "update webhook_endpoints set secret = $3, updated_at = clock.now, \
                 previous_secret = case when previous_secret_until > clock.now then previous_secret \
                     else secret end, \
                 previous_secret_until = case when previous_secret_until > clock.now \
                     then previous_secret_until else clock.tomorrow end \
             from (select statement_timestamp() as now, statement_timestamp() + interval '24 hours' as tomorrow) clock \
             where user_id = $1 and endpoint_id = $2 \
             returning endpoint_id, url, events, format, enabled, disabled_reason, failing_since, last_success_at, \
                 created_at, updated_at, app_id",
        )
        .bind(user.as_str())
        .bind(id)
        .bind(sealed)
        .fetch_optional(self.db.pool())
        .await
        .doing("replacing an endpoint's secret")?;
        row.map(Endpoint::try_from).transpose()
    }
}

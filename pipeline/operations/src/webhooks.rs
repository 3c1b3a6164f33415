//! Webhooks as operators see and repair them: whose endpoint is in trouble, what was given up, and another try.

use db::{Error, query_as};
use job::Timestamp;
use ledger::OperatorAction;
use outbox::{
    EndpointChange,
    deliveries::{
        recover::{Lost, make_lost_due},
        share_endpoint, waiting,
    },
    endpoints::write_change,
};
use records::UserId;

use crate::{Operations, deliveries::lock};

/// An endpoint, with what waits for it.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct EndpointView {
    pub user_id: String,
    pub endpoint_id: String,
    /// Scheme and host of its URL: what stands behind may be a secret of its owner's.
    #[sqlx(rename = "url", try_from = "Url")]
    pub host: String,
    pub enabled: bool,
    /// Why not: `by_owner`, `gone` or `failing`.
    pub disabled_reason: Option<String>,
    /// Since when nothing got through.
    pub failing_since: Option<Timestamp>,
    pub consecutive_failures: i32,
    /// Until when its breaker lets nothing through.
    pub open_until: Option<Timestamp>,
    /// The last 2xx.
    pub last_success_at: Option<Timestamp>,
    /// When anything of it changed last: lists are in this order.
    pub updated_at: Timestamp,
    /// Deliveries that wait for it, counted to 1,000.
    pub waiting: i64,
    /// Milliseconds that a try takes, from its claim to its end: the average of the newest. `None`: nothing is known of it.
    pub try_ms: Option<i64>,
}

/// Endpoints whose tries take as long are named as slow, in milliseconds.
const SLOW: i64 = 2_000;

impl EndpointView {
    /// It takes what it is sent, and takes long.
    pub fn is_slow(&self) -> bool {
        self.enabled && self.failing_since.is_none() && self.try_ms.is_some_and(|ms| ms >= SLOW)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct GivenUp {
    pub user_id: String,
    pub endpoint_id: String,
    /// The `webhook-id`.
    pub delivery_id: String,
    pub event: String,
    pub tries: i32,
    pub last_status: Option<i32>,
    pub last_error: Option<String>,
    pub finished_at: Timestamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Enabled {
    /// It receives events again, and what waited is due now.
    Enabled,
    /// It was enabled.
    Already,
    /// Its owner switched it off: that is not an operator's to undo.
    ByOwner,
}

/// A URL as it is stored; operators see its host.
#[derive(sqlx::Type)]
#[sqlx(transparent)]
struct Url(String);

impl From<Url> for String {
    fn from(url: Url) -> Self {
        host(&url.0)
    }
}

/// Scheme and host, without credentials, path and query. URLs are kept as they were sent, and are read here as those who
/// call them do (the URL standard): a backslash is a slash, how many stand behind the scheme is all the same, and tabs and
/// ends of lines count for nothing.
fn host(url: &str) -> String {
    let url = url.replace(['\t', '\n', '\r'], "");
    let (scheme, rest) = url.split_once(':').unwrap_or_default();
    let rest = rest.trim_start_matches(['/', '\\']);
    let authority = rest.split(['/', '\\', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    format!("{scheme}://{host}")
}

impl Operations {
    /// Endpoints: a person's, or those of everybody that fail, were disabled because they did, or are slow; newest change first.
    /// What its owner switched off is no matter of an operator's: it is a person's alone.
    pub async fn endpoint_views(
        &self,
        user: Option<&UserId>,
        endpoint: Option<&str>,
        limit: i64,
    ) -> Result<Vec<EndpointView>, Error> {
        Ok(query_as!("webhooks/endpoints.sql", user, endpoint, limit, SLOW as f64)
            .fetch_all(self.db.pool())
            .await?)
    }

    /// Deliveries that were given up, a person's or everybody's, newest first; a page behind (finished_at, delivery id).
    pub async fn given_up_deliveries(
        &self,
        user: Option<&UserId>,
        before: Option<(Timestamp, String)>,
        limit: i64,
    ) -> Result<Vec<GivenUp>, Error> {
        let (at, id) = before.unzip();
        Ok(query_as!("webhooks/given_up.sql", at, id, limit, user).fetch_all(self.db.pool()).await?)
    }

    /// Enables an endpoint that failed for days or answered 410; what waited for it is due now. `None`: no such endpoint.
    pub async fn enable_endpoint(
        &self,
        user: &UserId,
        endpoint: &str,
        action: &OperatorAction,
    ) -> Result<Option<Enabled>, Error> {
        let (mut transaction, now) = self.db.begin().await?;
        let standing = lock(&mut transaction, user, endpoint, now).await?;
        let answer = standing.map(|standing| match standing.disabled_reason.as_deref() {
            _ if standing.is_enabled => Enabled::Already,
            Some("by_owner") => Enabled::ByOwner,
            _ => Enabled::Enabled,
        });
        if answer != Some(Enabled::Enabled) {
            // Ended explicitly, and not by the driver: a claim skips locked rows, however short the lock.
            transaction.rollback().await?;
            return Ok(answer);
        }
        let change = EndpointChange { enabled: Some(true), ..EndpointChange::default() };
        write_change(&mut transaction, user, endpoint, &change, now).await?;
        waiting::wake(&mut transaction, user.as_str(), endpoint, now).await?;
        action.record(&mut transaction, "enable_webhook", Some(user), endpoint, now).await?;
        transaction.commit().await?;
        self.db.waker().deliveries_written();
        Ok(answer)
    }

    /// Makes at most `limit` deliveries due again that happened since `since` and were given up before `begun`, oldest
    /// first, as their owner may (`Outbox::recover`): exhausted, or cancelled by the endpoint's 410, under their old ids, and
    /// those of a disabled endpoint wait until it is enabled, as long as the retention counted from their events lasts. Answers how many; `None`: no such endpoint. Called again
    /// with the same `begun` until it answers 0, it has recovered all, and follows none that fails again.
    pub async fn recover_deliveries(
        &self,
        user: &UserId,
        endpoint: &str,
        since: Timestamp,
        begun: Timestamp,
        limit: i64,
        action: &OperatorAction,
    ) -> Result<Option<u64>, Error> {
        let (mut transaction, now) = self.db.begin().await?;
        let Some(enabled) = share_endpoint(&mut transaction, user, endpoint).await? else {
            return Ok(None);
        };
        let lost = Lost { since, begun, limit };
        let due_at = enabled.then_some(now);
        let recovered = make_lost_due(&mut transaction, (user, endpoint), &lost, due_at).await?.deliveries;
        if recovered == 0 {
            // Ended explicitly, and not by the driver: a claim skips locked rows.
            transaction.rollback().await?;
            return Ok(Some(0));
        }
        action.record(&mut transaction, "recover_webhook", Some(user), endpoint, now).await?;
        transaction.commit().await?;
        self.db.waker().deliveries_written();
        Ok(Some(recovered.unsigned_abs()))
    }
}

#[cfg(test)]
mod tests {
    use super::host;

    #[test]
    fn operator_sees_a_webhook_host_without_secrets() {
        assert_eq!(host("https://a.example/hook/secret?key=1"), "https://a.example");
        assert_eq!(host("https://user:pass@a.example:8443?x"), "https://a.example:8443");
    }

    #[test]
    fn operator_never_sees_a_webhook_path_or_query() {
        for url in [
            r"https:\\a.example\T0\SECRET",
            r"https:\/a.example/T0\SECRET",
            "https:a.example/SECRET",
            "https:////a.example/SECRET",
            r"https:\\user:SECRET@a.example\T0",
            "https:SECRET@SECRET@a.example#SECRET",
            "https:\t//a.example\n/SECRET",
        ] {
            assert_eq!(host(url), "https://a.example", "{url:?}");
        }
        assert_eq!(host(r"http:\\[2001:db8::1]:8080\SECRET"), "http://[2001:db8::1]:8080");
        assert_eq!(host("SECRET"), "://", "what has no scheme is no URL");
    }
}

//! One request with audio: signed, tried twice at most, and its outcome noted.

use std::time::Duration;

use outbox::{AudioReceiver, Health};
use outside::{Answer, Failure, Url, signed_headers};
use records::{Timestamp, UserId};
use tokio::time::{Instant, sleep};

use super::Shared;

/// The wait before the second try.
const AGAIN_AFTER: Duration = Duration::from_secs(1);

/// A receiver as it was read, and when: the database's time goes on from there.
pub(super) struct Receiver {
    pub(super) receiver: AudioReceiver,
    pub(super) read_at: Instant,
}

impl Receiver {
    fn now(&self) -> Timestamp {
        self.receiver.now + self.read_at.elapsed()
    }
}

impl Shared {
    /// Posts `body`; whether it was delivered. A receiver that failed several times in a row is left alone for a while.
    pub(super) async fn post(&self, user: &UserId, to: &Receiver, rate: u32, body: Vec<u8>) -> bool {
        let server = format!("{user} {}", to.receiver.url);
        if !self.breaker.admits(&server) {
            self.metrics.count_dropped_audio("circuit_open");
            return false;
        }
        let outcome = self.outcome(user, to, rate, body).await;
        match outcome {
            Health::Gone => self.breaker.forget(&server),
            outcome => self.breaker.note(&server, outcome == Health::Failing),
        }
        self.metrics.count_audio(match outcome {
            Health::Alive => "delivered",
            Health::Gone => "gone",
            Health::Failing | Health::Unknown => "failed",
        });
        let version = to.receiver.version;
        let ledger = self.shards.of_user(user);
        if let Err(error) =
            ledger.db().in_time(ledger.outbox().note_audio_outcome(user, version, outcome)).await
        {
            tracing::warn!(%error, "how an audio webhook answered was not noted");
        }
        outcome == Health::Alive
    }

    async fn outcome(&self, user: &UserId, to: &Receiver, rate: u32, body: Vec<u8>) -> Health {
        let id = format!("msg_{}", self.chance.id());
        let answer = match self.attempt(user, to, rate, &id, body.clone()).await {
            Answer::Failed(Failure::Unreachable) | Answer::Status { code: 500.., .. } => {
                sleep(AGAIN_AFTER).await;
                self.attempt(user, to, rate, &id, body).await
            }
            answer => answer,
        };
        match answer {
            Answer::Status { code: 200..=299, .. } => Health::Alive,
            Answer::Status { code: 410, .. } => Health::Gone,
            _ => Health::Failing,
        }
    }

    async fn attempt(&self, user: &UserId, to: &Receiver, rate: u32, id: &str, body: Vec<u8>) -> Answer {
        match request(user, &to.receiver, rate, id, to.now().timestamp(), &body) {
            Some((url, headers)) => self.sender.post(user.as_str(), &url, headers, body).await,
            None => Answer::Failed(Failure::Refused),
        }
    }
}

/// The address with `sample_rate` and `uid`, and the headers (Standard Webhooks); `None` when the stored URL or secret is
/// invalid.
fn request(
    user: &UserId,
    receiver: &AudioReceiver,
    rate: u32,
    id: &str,
    timestamp: i64,
    body: &[u8],
) -> Option<(Url, Vec<(String, String)>)> {
    let mut url = Url::parse(&receiver.url).ok()?;
    url.query_pairs_mut().append_pair("sample_rate", &rate.to_string()).append_pair("uid", user.as_str());
    let mut headers = signed_headers([&receiver.secret], id, timestamp, body).ok()?;
    headers.push(("content-type".to_owned(), "application/octet-stream".to_owned()));
    Some((url, headers))
}

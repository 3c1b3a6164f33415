//! Raw audio of live sessions, posted to the servers that their users named (`docs/live.md`).
//!
//! A session hands its audio to a tap and never waits: a receiver that is slow or down loses audio, which is counted.

mod post;
mod tap;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use ledger::Shards;
use outside::Sender;
use records::UserId;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::breaker::Breaker;
use crate::chance::Chance;
use crate::metrics::Metrics;

pub use tap::AudioTap;

/// How long audio is sent once the process is to stop: sessions end within ten seconds, and slow receivers would take minutes.
const GRACE: Duration = Duration::from_secs(20);

/// The audio webhooks of one process. Cheap to clone; [`run`](Self::run) waits for what is still to be sent.
#[derive(Clone)]
pub struct AudioWebhooks(Arc<Shared>);

/// What all taps of a process share.
struct Shared {
    shards: Shards,
    sender: Sender,
    metrics: Metrics,
    chance: Chance,
    breaker: Breaker,
    /// One permit for each byte.
    budget: Arc<Semaphore>,
    tracker: TaskTracker,
}

impl AudioWebhooks {
    /// Bytes of audio that a process keeps for receivers: what is gathered, what waits, and what is being sent.
    pub const BUDGET: usize = 128 * 1_024 * 1_024;

    /// `seed` is where the ids of requests come from; `budget` is in bytes.
    pub fn new(
        shards: impl Into<Shards>,
        sender: Sender,
        metrics: Metrics,
        seed: u64,
        budget: usize,
    ) -> Self {
        Self(Arc::new(Shared {
            shards: shards.into(),
            sender,
            metrics,
            chance: Chance::new(seed),
            breaker: Breaker::default(),
            budget: Arc::new(Semaphore::new(budget.min(Semaphore::MAX_PERMITS))),
            tracker: TaskTracker::new(),
        }))
    }

    /// Begins to take the audio of a session, whose samples come at `rate` a second. Must be called inside a runtime.
    pub fn open(&self, user: &UserId, rate: u32) -> AudioTap {
        let (tap, sending) = tap::open(Arc::clone(&self.0), user.clone(), rate);
        self.0.tracker.spawn(sending);
        tap
    }

    /// Returns once `soft` is cancelled and the last audio of sessions that have ended is sent, at most 20 seconds later, or when `hard`
    /// is.
    pub async fn run(self, soft: CancellationToken, hard: CancellationToken) {
        let sent = async {
            soft.cancelled().await;
            self.0.tracker.close();
            if timeout(GRACE, self.0.tracker.wait()).await.is_err() {
                tracing::warn!("raw audio that receivers have not taken is given up");
            }
        };
        tokio::select! {
            () = sent => {}
            () = hard.cancelled() => {}
        }
    }
}

impl fmt::Debug for AudioWebhooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AudioWebhooks").field("open", &self.0.tracker.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

    use ledger::{Ledger, Settings};
    use outside::Guard;
    use prometheus::Registry;
    use sqlx::postgres::PgConnectOptions;

    use super::*;

    /// The platform killed a process whose receivers were slow, before it had said goodbye.
    #[tokio::test(start_paused = true)]
    async fn process_that_stops_waits_no_longer_for_slow_receivers_than_its_grace_period() {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let away = PgConnectOptions::new_without_pgpass().host("127.0.0.1").port(1);
        let sender = Sender::new(Guard::new(Vec::new())).unwrap();
        let metrics = Metrics::new(&Registry::new()).unwrap();
        let ledger = Ledger::new(away, Settings::default());
        let webhooks = AudioWebhooks::new(ledger, sender, metrics, 1, AudioWebhooks::BUDGET);
        let _tap = webhooks.open(&UserId::new("ann"), 16_000);
        let soft = CancellationToken::new();
        soft.cancel();
        let ended = timeout(Duration::from_secs(30), webhooks.run(soft, CancellationToken::new())).await;
        assert!(ended.is_ok());
    }
}

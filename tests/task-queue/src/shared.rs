//! What the server and the deliveries share: the options, the store, and the clock.

use std::time::Duration;

use chrono::{DateTime, Utc};
use parking_lot::{Mutex, MutexGuard};
use reqwest::Client;
use tokio::sync::Notify;

use crate::store::Store;

/// How the queue is made.
#[derive(Clone, Debug)]
pub struct Options {
    /// Deliveries at once.
    pub concurrency: usize,
    /// Deliveries of one task.
    pub max_attempts: u32,
    /// The wait before the second one; it doubles.
    pub min_backoff: Duration,
    /// The longest of these waits.
    pub max_backoff: Duration,
    /// How long it is at least between two deliveries of one slot.
    pub between: Duration,
    /// Who issues the tokens.
    pub issuer: String,
    /// The access token without which no task is created; any, where none is said.
    pub access_token: Option<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            concurrency: 4,
            max_attempts: 5,
            min_backoff: Duration::from_millis(200),
            max_backoff: Duration::from_secs(5),
            between: Duration::ZERO,
            issuer: "https://accounts.google.com".to_owned(),
            access_token: None,
        }
    }
}

pub(crate) struct Shared {
    pub(crate) options: Options,
    pub(crate) http: Client,
    /// Something may be due.
    pub(crate) changed: Notify,
    pub(crate) store: Mutex<Store>,
}

impl Shared {
    pub(crate) fn store(&self) -> MutexGuard<'_, Store> {
        self.store.lock()
    }
}

/// The wall clock: tokens and schedules name times of the world.
pub(crate) fn wall_clock() -> DateTime<Utc> {
    #[expect(clippy::disallowed_methods, reason = "the emulator's clock is the world's")]
    Utc::now()
}

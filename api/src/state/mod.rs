//! The state that every handler is handed, and what it counts: quotas, memory, waits, and which shard a key belongs to.

mod breaker;
mod budget;
mod directory;
mod patterns;
mod rate;
mod searches;
mod since;

use std::sync::Arc;

use ledger::{Ledger, Shards};

pub(crate) use budget::{Account, Budget, Refused, Reservation};
pub(crate) use directory::Directory;
pub(crate) use patterns::{Patterns, Wait};
pub(crate) use rate::RateLimitHeaders;
pub(crate) use searches::Searches;
pub(crate) use since::Since;

use crate::{Metrics, Settings, ids::Ids};

/// Whether a URL that a user set may be called at all (scheme, literal addresses); tied to `outside`'s guard in
/// `src/wiring.rs`.
pub type CheckUrl = Arc<dyn Fn(&str) -> bool + Send + Sync>;

/// 4 MiB (DECISIONS §3, "bodies").
pub(crate) const BODY_LIMIT: usize = 4 * 1_024 * 1_024;

/// What handlers work with; cheap to clone.
#[derive(Clone)]
pub(crate) struct AppState {
    /// The shard of the request's user.
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) directory: Directory,
    pub(crate) check_url: CheckUrl,
    pub(crate) settings: Arc<Settings>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) rate: Arc<rate::Limiter>,
    pub(crate) budget: Arc<Budget>,
    pub(crate) searches: Arc<Searches>,
    pub(crate) ids: Arc<dyn Ids>,
    pub(crate) patterns: Arc<Patterns>,
}

impl AppState {
    /// Of the first shard.
    pub(crate) fn new(
        shards: impl Into<Shards>,
        check_url: CheckUrl,
        settings: Settings,
        metrics: Metrics,
        ids: Arc<dyn Ids>,
        patterns: Patterns,
    ) -> Self {
        let shards = shards.into();
        Self {
            ledger: Arc::new(shards.first().clone()),
            directory: Directory::new(shards),
            check_url,
            rate: Arc::new(rate::Limiter::per_minute(settings.rate_per_minute)),
            budget: Budget::new(settings.memory_budget, metrics.held_bytes.clone()),
            searches: Arc::default(),
            patterns: Arc::new(patterns),
            settings: Arc::new(settings),
            metrics: Arc::new(metrics),
            ids,
        }
    }

    /// The same for requests of another shard's users.
    pub(crate) fn of(&self, ledger: &Ledger) -> Self {
        Self { ledger: Arc::new(ledger.clone()), ..self.clone() }
    }
}

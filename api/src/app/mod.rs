//! The front state: what every request passes, and what every handler is handed.

mod budget;
mod completion;
mod cors;
mod encoding;
mod idempotency;
mod pass;
mod patterns;
mod rate;
mod request_id;
mod since;
mod slash;

use std::sync::Arc;

use axum::{Router, extract::DefaultBodyLimit, middleware};
use ledger::{Ledger, Shards};
use tower_http::compression::{CompressionLayer, DefaultPredicate, Predicate};

pub(crate) use budget::{Account, Refused, Reservation};
pub use completion::run_requests_to_completion;
pub(crate) use completion::run_to_completion;
pub(crate) use encoding::{AsItIs, takes_gzip};
pub(crate) use idempotency::{
    Again, Anew, Creating, HEADER as IDEMPOTENCY_KEY, Kept, REPLAYED, Resume, name_in, once, refused,
};
pub(crate) use patterns::{Patterns, Wait};
pub(crate) use rate::RateLimitHeaders;
pub(crate) use since::Since;

use crate::{Error, Metrics, Settings, ids::Ids, keys::Directory};

/// Whether a URL that a user set may be called at all (scheme, literal addresses); tied to `outside`'s guard in
/// `src/wiring.rs`.
pub type CheckUrl = Arc<dyn Fn(&str) -> bool + Send + Sync>;

/// 4 MiB (DECISIONS §3, "bodies").
pub(crate) const BODY_LIMIT: usize = 4 * 1_024 * 1_024;

/// What handlers work with; cheap to clone.
#[derive(Clone)]
pub(crate) struct AppState {
    /// The shard of the request's user.
    pub(crate) ledger: Ledger,
    pub(crate) directory: Directory,
    pub(crate) check_url: CheckUrl,
    pub(crate) settings: Arc<Settings>,
    pub(crate) metrics: Metrics,
    pub(crate) rate: Arc<rate::Limiter>,
    pub(crate) budget: Arc<budget::Budget>,
    pub(crate) ids: Arc<dyn Ids>,
    patterns: Arc<Patterns>,
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
            ledger: shards.first().clone(),
            directory: Directory::new(shards),
            check_url,
            rate: Arc::new(rate::Limiter::per_minute(settings.rate_per_minute)),
            budget: budget::Budget::new(settings.memory_budget, metrics.held_bytes.clone()),
            patterns: Arc::new(patterns),
            settings: Arc::new(settings),
            metrics,
            ids,
        }
    }

    /// The same for requests of another shard's users.
    pub(crate) fn of(&self, ledger: &Ledger) -> Self {
        Self { ledger: ledger.clone(), ..self.clone() }
    }
}

/// Puts the middleware before the routes: what every request passes, from the outside in.
pub(crate) fn before(routes: Router<AppState>, state: AppState) -> Router {
    let router = routes
        .fallback(slash::fallback)
        .method_not_allowed_fallback(async || Error::MethodNotAllowed)
        .layer(DefaultBodyLimit::max(BODY_LIMIT))
        .layer(middleware::from_fn_with_state(state.clone(), budget::bound))
        .layer(pass::catch_panics())
        .layer(middleware::from_fn_with_state(state.clone(), pass::attend))
        .layer(CompressionLayer::new().compress_when(DefaultPredicate::new().and(encoding::may_compress)))
        // Outside of the compression, which would refuse an answer that is given already.
        .layer(middleware::map_request(encoding::leave_a_choice))
        .layer(middleware::from_fn(run_requests_to_completion));
    match state.settings.cors_origins.as_slice() {
        [] => router.with_state(state),
        origins => router.layer(cors::layer(origins)).with_state(state),
    }
}

//! The front door: what every request passes, and what every handler is handed.

mod budget;
mod completion;
mod cors;
mod encoding;
mod pass;
mod rate;
mod repeats;
mod request_id;
pub(crate) mod retire;
mod since;
mod slash;

use std::{collections::HashMap, sync::Arc};

use axum::{Router, extract::DefaultBodyLimit, middleware};
use ledger::Ledger;
use tower_http::compression::{CompressionLayer, DefaultPredicate, Predicate};

pub(crate) use budget::{Account, Refused, Reservation};
pub use completion::run_requests_to_completion;
pub(crate) use completion::run_to_completion;
pub(crate) use encoding::takes_gzip;
pub(crate) use rate::Told;
pub(crate) use repeats::{Creating, HEADER as IDEMPOTENCY_KEY, REPLAYED, name_in, refused};
pub(crate) use since::Since;

use crate::{
    Error, Metrics, Scope, Settings,
    ids::{Ids, SystemIds},
    routes,
};

/// Whether a URL that a user set may be called at all (scheme, literal addresses); tied to `outside`'s guard in
/// `src/wiring.rs`.
pub type CheckUrl = Arc<dyn Fn(&str) -> bool + Send + Sync>;

/// 4 MiB (DECISIONS §3, "bodies").
pub(crate) const BODY_LIMIT: usize = 4 * 1_024 * 1_024;

/// What handlers work with; cheap to clone.
#[derive(Clone)]
pub(crate) struct Door {
    pub(crate) ledger: Ledger,
    pub(crate) check_url: CheckUrl,
    pub(crate) settings: Arc<Settings>,
    pub(crate) metrics: Metrics,
    pub(crate) rate: Arc<rate::Limiter>,
    pub(crate) budget: Arc<budget::Budget>,
    pub(crate) ids: Arc<dyn Ids>,
    pub(crate) documents: Arc<routes::Documents>,
    /// The routes that create, with the scope that each demands.
    creating: Arc<HashMap<&'static str, Scope>>,
    /// The patterns of all routes.
    paths: Arc<[&'static str]>,
}

impl Door {
    fn new(
        ledger: Ledger,
        check_url: CheckUrl,
        settings: Settings,
        metrics: Metrics,
        ids: Arc<dyn Ids>,
    ) -> Self {
        Self {
            ledger,
            check_url,
            rate: Arc::new(rate::Limiter::per_minute(settings.rate_per_minute)),
            budget: budget::Budget::new(settings.memory_budget, metrics.held_bytes.clone()),
            documents: routes::Documents::of(&settings),
            creating: Arc::new(routes::creating(&settings)),
            paths: if settings.only_deliveries { [].into() } else { routes::patterns(&settings).into() },
            settings: Arc::new(settings),
            metrics,
            ids,
        }
    }
}

/// The whole public interface as one service.
pub fn router(ledger: Ledger, check_url: CheckUrl, settings: Settings, metrics: Metrics) -> Router {
    router_with_ids(ledger, check_url, settings, metrics, Arc::new(SystemIds))
}

/// The same, with ids and secrets from elsewhere.
pub fn router_with_ids(
    ledger: Ledger,
    check_url: CheckUrl,
    settings: Settings,
    metrics: Metrics,
    ids: Arc<dyn Ids>,
) -> Router {
    let door = Door::new(ledger, check_url, settings, metrics, ids);
    let routes = match door.settings.only_deliveries {
        true => routes::deliveries(),
        false => routes::all().merge(routes::deliveries()),
    };
    let router = routes
        .fallback(slash::fallback)
        .method_not_allowed_fallback(async || Error::MethodNotAllowed)
        .layer(middleware::from_fn_with_state(door.clone(), repeats::once))
        // Outside of `once`, which reads bodies too.
        .layer(DefaultBodyLimit::max(BODY_LIMIT))
        .layer(middleware::from_fn_with_state(door.clone(), budget::bound))
        .layer(pass::catch_panics())
        .layer(middleware::from_fn_with_state(door.clone(), pass::attend))
        .layer(CompressionLayer::new().compress_when(DefaultPredicate::new().and(encoding::may_compress)))
        // Outside of the compression, which would refuse an answer that is given already.
        .layer(middleware::map_request(encoding::leave_a_choice))
        .layer(middleware::from_fn(run_requests_to_completion));
    match door.settings.cors_origins.as_slice() {
        [] => router.with_state(door),
        origins => router.layer(cors::layer(origins)).with_state(door),
    }
}

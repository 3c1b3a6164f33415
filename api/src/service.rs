//! The whole interface as one service: the registered endpoints behind the front state.

use std::sync::Arc;

use axum::Router;
use ledger::Shards;
use serde_json::Value;

use crate::{
    AppState, Metrics, Settings,
    document::write,
    front,
    ids::{Ids, SystemIds},
    routes,
    state::{CheckUrl, Patterns},
};

/// The whole public interface as one service.
pub fn router(
    shards: impl Into<Shards>,
    check_url: CheckUrl,
    settings: Settings,
    metrics: Metrics,
) -> Router {
    router_with_ids(shards, check_url, settings, metrics, Arc::new(SystemIds))
}

/// The same, with ids and secrets from elsewhere.
pub fn router_with_ids(
    shards: impl Into<Shards>,
    check_url: CheckUrl,
    settings: Settings,
    metrics: Metrics,
    ids: Arc<dyn Ids>,
) -> Router {
    let mut endpoints = routes::deliveries();
    if !settings.only_deliveries {
        let public = routes::endpoints(&settings);
        endpoints.extend(routes::pages(&settings, &write(&public)));
        endpoints.extend(public);
    }
    let patterns = endpoints.iter().map(|endpoint| (endpoint.path, endpoint.method, endpoint.wait));
    let state = AppState::new(shards, check_url, settings, metrics, ids, Patterns::of(patterns));
    front::router(endpoints, state)
}

/// The OpenAPI document of the public interface as a service with these settings serves it.
pub fn document(settings: &Settings) -> Value {
    write(&routes::endpoints(settings))
}

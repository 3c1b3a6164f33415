//! Before the routes: each request goes to the shard of its user. A router for each shard is made when the first request of one
//! of its users comes; limits, budgets and metrics are the process's.

use std::sync::{Arc, OnceLock};

use axum::{
    Router,
    extract::Request,
    response::{IntoResponse, Response},
};
use tower::ServiceExt;

use crate::{AppState, Endpoint, endpoint, middleware};

/// The endpoints, behind the middleware, for all shards.
pub(crate) fn router(endpoints: Vec<Endpoint>, state: AppState) -> Router {
    let shards = state.directory.shards().count();
    if shards == 1 {
        return of_shard(endpoints, state);
    }
    let routers = (0..shards).map(|_| OnceLock::new()).collect();
    let front = Arc::new(Front { endpoints, state, routers });
    Router::new().fallback(move |request: Request| answer(Arc::clone(&front), request))
}

struct Front {
    endpoints: Vec<Endpoint>,
    state: AppState,
    /// By the shards' numbers.
    routers: Vec<OnceLock<Router>>,
}

async fn answer(front: Arc<Front>, request: Request) -> Response {
    let ledger = front.state.directory.of_request(request.headers()).await;
    let made = front.routers.get(usize::from(ledger.db().shard().number));
    let make = || of_shard(front.endpoints.clone(), front.state.of(ledger));
    let router = made.map_or_else(make, |made| made.get_or_init(make).clone());
    router.oneshot(request).await.into_response()
}

fn of_shard(endpoints: Vec<Endpoint>, state: AppState) -> Router {
    middleware::before(endpoint::router(endpoints, &state), state)
}

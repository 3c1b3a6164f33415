//! The load balancer through which the task queue delivers.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;

use crate::queue::PATH;
use crate::world::World;

/// The headers that are passed on in both directions.
const PASSED: [HeaderName; 4] =
    [header::AUTHORIZATION, header::CONTENT_TYPE, header::RETRY_AFTER, header::USER_AGENT];

/// Hands every delivery to one of the processes that are there, until the runtime ends.
pub(crate) fn balance(world: &Arc<World>) {
    let Some(queue) = &world.queue else { return };
    let Some(listener) = queue.listener.lock().take() else { return };
    let router = Router::new().route(PATH, post(forward)).with_state(Arc::clone(world));
    tokio::spawn(async move { axum::serve(listener, router).await });
}

async fn forward(State(world): State<Arc<World>>, headers: HeaderMap, body: Bytes) -> Response {
    let addresses = world.fleet.addresses();
    let turn = world.queue.as_ref().map_or(0, |queue| queue.delivered.fetch_add(1, Ordering::Relaxed));
    let Some(address) = addresses.get(turn % addresses.len().max(1)) else {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    };
    match world.client.forward(&format!("{}{PATH}", address.api), only_passed(&headers), body).await {
        Some((status, headers, body)) => (status, only_passed(&headers), body).into_response(),
        None => StatusCode::BAD_GATEWAY.into_response(),
    }
}

fn only_passed(headers: &HeaderMap) -> HeaderMap {
    let known = PASSED.into_iter().filter_map(|name| Some((name.clone(), headers.get(name)?.clone())));
    known.collect()
}

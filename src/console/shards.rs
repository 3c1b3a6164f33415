//! Where there are several shards, the console shows one at a time: the one that the visitor chose last.

use std::sync::Arc;

use axum::{
    Router,
    extract::{Query, Request},
    http::{HeaderMap, header},
    response::{AppendHeaders, IntoResponse, Redirect, Response},
    routing::get,
};
use serde::Deserialize;
use tower::ServiceExt;

use super::visitor::named_cookie;

/// The cookie in which the choice is kept.
const COOKIE: &str = "console-shard";

/// The consoles of all shards, by their numbers.
pub(super) fn router(consoles: Vec<Router>) -> Router {
    let consoles = Arc::new(consoles);
    let shards = consoles.len();
    Router::new()
        .route("/console/shard", get(async move |chosen: Query<Chosen>| choose(&chosen, shards)))
        .fallback(move |request: Request| show(Arc::clone(&consoles), request))
}

/// What the form of the header sends.
#[derive(Debug, Deserialize)]
struct Chosen {
    number: usize,
}

fn choose(chosen: &Chosen, shards: usize) -> Response {
    let number = chosen.number.min(shards.saturating_sub(1));
    let cookie = format!("{COOKIE}={number}; Path=/console; HttpOnly; SameSite=Strict");
    (AppendHeaders([(header::SET_COOKIE, cookie)]), Redirect::to("/console")).into_response()
}

async fn show(consoles: Arc<Vec<Router>>, request: Request) -> Response {
    let console = consoles.get(chosen(request.headers())).or(consoles.first()).cloned();
    console.unwrap_or_default().oneshot(request).await.into_response()
}

/// The number of the shard that was chosen; the first before.
fn chosen(headers: &HeaderMap) -> usize {
    named_cookie(headers, COOKIE).and_then(|number| number.parse().ok()).unwrap_or_default()
}

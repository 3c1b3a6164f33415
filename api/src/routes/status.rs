//! `GET /v1/status`: what answers here. Public, and without a secret: engines by the ids under which their
//! results are kept, so that one engine's output never passes for another's.

use axum::{Json, extract::State};
use serde_json::{Map, Value, json};

use crate::door::Door;

/// GET: the version, and which engine (with its model and prompt version) does what.
pub(super) async fn show(State(door): State<Door>) -> Json<Value> {
    let engines = door.settings.engines.iter().map(|(ability, id)| ((*ability).to_owned(), json!(id)));
    let engines: Map<String, Value> = engines.collect();
    Json(json!({"version": env!("CARGO_PKG_VERSION"), "engines": engines}))
}

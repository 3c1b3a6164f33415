//! `GET /v1/status`: what answers here. Public, and without a secret: engines by the ids under which their
//! results are kept, so that one engine's output never passes for another's.

use axum::Json;
use serde_json::json;

use crate::{Access, Answer, AppState, Endpoint, shapes};

pub(super) fn endpoints() -> Vec<Endpoint> {
    vec![
        Endpoint::get("/v1/status", Access::Open, show)
            .named("get_status", "Read which engine does what")
            .says(
                "Engines by the ids under which their results are kept. It needs no key and holds no secret.",
            )
            .answers(Answer::one::<shapes::Status>("As it is now.")),
    ]
}

/// GET: the version, and which engine (with its model and prompt version) does what.
async fn show(state: AppState) -> Json<shapes::Status> {
    let engines = state.settings.engines.iter().map(|(ability, id)| ((*ability).to_owned(), json!(id)));
    Json(shapes::status(engines.collect()))
}

//! `/v1/users/geolocation`: where a user is, for the tools of apps; known for 30 minutes.

use axum::{Json, extract::State};
use records::UserId;
use serde_json::json;

use super::geolocation::{NOTES, geolocation};
use crate::{
    Reply, Scope,
    caller::Caller,
    endpoint::{Answer, Endpoint, takes},
    read::{Body, object},
    shapes,
    state::AppState,
};

const PATH: &str = "/v1/users/geolocation";

/// Where the user is.
pub(super) fn endpoints() -> Vec<Endpoint> {
    vec![
        Endpoint::patch(PATH, Scope::ProfileWrite, note)
            .named("note_location", "Say where the user is")
            .says("For the tools of apps. It is known for 30 minutes, then forgotten.")
            .body(
                "UserLocation",
                takes(geolocation, NOTES),
                json!({ "latitude": 52.52, "longitude": 13.405 }),
            )
            .answers(Answer::one::<shapes::AppStatus>("Done.")),
        Endpoint::delete(PATH, Scope::ProfileWrite, forget)
            .named("forget_location", "Forget where the user is")
            .answers(Answer::one::<shapes::AppStatus>("Done.")),
    ]
}

async fn note(State(state): State<AppState>, caller: Caller, body: Body) -> Reply<shapes::AppStatus> {
    let place = object(body, geolocation)?;
    state.ledger.store().note_location(&caller.user, &place, None).await?;
    Ok(Json(shapes::DONE))
}

async fn forget(State(state): State<AppState>, caller: Caller) -> Reply<shapes::AppStatus> {
    state.ledger.store().forget_location(&caller.user).await?;
    Ok(Json(shapes::DONE))
}

/// A conversation that just took place says where its user is. It is stored already, and this may fail.
pub(super) async fn note_of_conversation(
    state: &AppState,
    user: &UserId,
    place: &records::Geolocation,
    started_at: Option<records::Timestamp>,
) {
    let noted = async {
        let now = state.ledger.db().now().await?;
        let at = started_at.unwrap_or(now);
        let is_fresh = at <= now && now - at < chrono::TimeDelta::minutes(30);
        match is_fresh {
            true => state.ledger.store().note_location(user, place, Some(at)).await.map(drop),
            false => Ok(()),
        }
    };
    if let Err(error) = noted.await {
        tracing::warn!(%error, "the place of a conversation was not noted");
    }
}

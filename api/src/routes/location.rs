//! `/v1/users/geolocation`: where a user is, for the tools of apps; known for 30 minutes.

use axum::Json;
use chrono::TimeDelta;
use records::{Conversation, Geolocation, UserId};
use serde_json::json;

use crate::{
    Answer, AppState, Caller, Endpoint, Reply, Scope,
    read::{Body, Fields, Float, Named, Note, Object, Take, Text, object},
    shapes, takes,
};

const PATH: &str = "/v1/users/geolocation";

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

async fn note(state: AppState, caller: Caller, body: Body) -> Reply<shapes::AppStatus> {
    let place = object(body, geolocation)?;
    state.ledger.store().note_location(&caller.user, &place, None).await?;
    Ok(Json(shapes::DONE))
}

async fn forget(state: AppState, caller: Caller) -> Reply<shapes::AppStatus> {
    state.ledger.store().forget_location(&caller.user).await?;
    Ok(Json(shapes::DONE))
}

/// A new conversation says where its user was when it began. It is stored already: this may fail, and takes a small part of the
/// time in which it has to be answered.
pub(super) async fn note_of_conversation(state: &AppState, user: &UserId, new: &Conversation) {
    let Some(place) = &new.geolocation else {
        return;
    };
    let noted = async {
        let past = state.ledger.db().now().await? - new.started_at;
        let is_fresh = past >= TimeDelta::zero() && past < TimeDelta::minutes(30);
        match is_fresh {
            true => state.ledger.store().note_location(user, place, Some(new.started_at)).await.map(drop),
            false => Ok(()),
        }
    };
    if let Err(error) = state.ledger.db().within(state.settings.database_wait / 4, noted).await {
        tracing::warn!(%error, "the place of a conversation was not noted");
    }
}

const NOTES: &[Note] = &[
    ("latitude", "Degrees north.", ""),
    ("longitude", "Degrees east.", ""),
    ("address", "A postal address, when known.", ""),
    ("google_place_id", "The place's id at its provider, when known.", ""),
    ("location_type", "Such as `premise`, `street_address` or `approximate`.", ""),
];

/// A place in a body.
pub(super) fn geolocation_field() -> Named<impl Take<Out = Geolocation>> {
    Named { name: "NewGeolocation", words: "Where it happened.", notes: NOTES, take: Object(geolocation) }
}

/// Reads a `Geolocation`; the bounds are enforced before anything is stored (DECISIONS §1).
fn geolocation(fields: &mut Fields<'_>) -> Option<Geolocation> {
    let latitude = fields.required("latitude", Float::between(-90.0, 90.0));
    let longitude = fields.required("longitude", Float::between(-180.0, 180.0));
    let address = fields.optional("address", Text::label());
    let google_place_id = fields.optional("google_place_id", Text::label());
    let location_type = fields.optional("location_type", Text::label());
    Some(Geolocation { latitude: latitude?, longitude: longitude?, address, google_place_id, location_type })
}

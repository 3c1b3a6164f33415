//! `/v1/users/geolocation`: where a user is, for the tools of apps; known for 30 minutes.

use axum::{Json, extract::State};
use records::UserId;
use serde_json::{Value, json};

use super::geolocation::geolocation;
use crate::{
    Error, Scope,
    door::Door,
    keys::Caller,
    read::{Body, object},
};

/// PATCH: notes it, also when nothing changed.
pub(super) async fn note(State(door): State<Door>, caller: Caller, body: Body) -> Result<Json<Value>, Error> {
    caller.require(Scope::ProfileWrite)?;
    let place = object(body, geolocation)?;
    door.ledger.store().note_location(&caller.user, &place, None).await?;
    Ok(Json(json!({ "status": "ok" })))
}

/// DELETE: forgets it.
pub(super) async fn forget(State(door): State<Door>, caller: Caller) -> Result<Json<Value>, Error> {
    caller.require(Scope::ProfileWrite)?;
    door.ledger.store().forget_location(&caller.user).await?;
    Ok(Json(json!({ "status": "ok" })))
}

/// A conversation that just took place says where its user is. It is stored already, and this may fail.
pub(super) async fn note_of_conversation(
    door: &Door,
    user: &UserId,
    place: &records::Geolocation,
    started_at: Option<records::Timestamp>,
) {
    let noted = async {
        let now = door.ledger.db().now().await?;
        let at = started_at.unwrap_or(now);
        let is_fresh = at <= now && now - at < chrono::TimeDelta::minutes(30);
        match is_fresh {
            true => door.ledger.store().note_location(user, place, Some(at)).await.map(drop),
            false => Ok(()),
        }
    };
    if let Err(error) = noted.await {
        tracing::warn!(%error, "the place of a conversation was not noted");
    }
}

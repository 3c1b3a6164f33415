//! `/v1/apps/{app_id}/keys`: what an app writes to its users with.

use axum::{Json, extract::State, http::StatusCode};
use records::UserId;
use secrecy::ExposeSecret;
use serde_json::Value;
use store::{AppKeyRefusal, NewAppKey};

use super::{apps, path::Ids};
use crate::{
    Error, Scope,
    door::{Creating, Door},
    error::Code,
    keys::{Caller, generate_app_key},
    read::{Body, Fields, Text, optional_object},
    shapes,
};

/// What a 404 says is missing.
pub(super) const KIND: &str = "Key";

/// GET: all keys of an app, newest first.
pub(super) async fn list(
    State(door): State<Door>,
    caller: Caller,
    Ids(id): Ids<String>,
) -> Result<Json<Value>, Error> {
    caller.require(Scope::AppsRead)?;
    let app = apps::owned(&door, &caller.user, &id).await?;
    let keys = door.ledger.store().app_keys(&caller.user, &app.id).await?;
    Ok(Json(keys.iter().map(shapes::app_key).collect()))
}

/// POST: a new key; `secret` is its text, shown this once.
pub(super) async fn create(
    Creating(door): Creating,
    caller: Caller,
    Ids(id): Ids<String>,
    body: Body,
) -> Result<Json<Value>, Error> {
    caller.require(Scope::AppsWrite)?;
    let label = optional_object(body, read)?.flatten();
    let app = apps::owned(&door, &caller.user, &id).await?;
    let made = generate_app_key(door.ids.secret());
    let key = NewAppKey {
        id: door.ids.fresh().to_string(),
        label: label.unwrap_or_else(|| "key".to_owned()),
        prefix: made.hint,
        sha256: made.sha256,
    };
    let stored = door.ledger.store().create_app_key(&caller.user, &app.id, &key).await?;
    let stored = stored.map_err(|refusal| match refusal {
        AppKeyRefusal::NoSuchApp => Error::NotFound(apps::KIND),
        AppKeyRefusal::TooMany => Error::Conflict(Code::TooManyAppKeys),
    })?;
    Ok(Json(shapes::with(shapes::app_key(&stored), "secret", made.plaintext.expose_secret())))
}

/// DELETE: revokes a key at once.
pub(super) async fn revoke(
    State(door): State<Door>,
    caller: Caller,
    Ids((id, key)): Ids<(String, String)>,
) -> Result<StatusCode, Error> {
    caller.require(Scope::AppsWrite)?;
    let app = apps::owned(&door, &caller.user, &id).await?;
    match door.ledger.store().revoke_app_key(&caller.user, &app.id, &key).await? {
        true => Ok(StatusCode::NO_CONTENT),
        false => Err(Error::NotFound(KIND)),
    }
}

/// Reads the body of a create: its label, if it is given one.
pub(super) fn read(fields: &mut Fields<'_>) -> Option<Option<String>> {
    Some(fields.optional("label", Text::between(1, 100)))
}

/// A key that a request made, as it is now.
pub(super) async fn present(door: &Door, user: &UserId, app: &str, key: &str) -> Result<Value, Error> {
    let keys = door.ledger.store().app_keys(user, app).await?;
    let found = keys.iter().find(|one| one.id == key).ok_or(Error::NotFound(KIND))?;
    Ok(shapes::app_key(found))
}

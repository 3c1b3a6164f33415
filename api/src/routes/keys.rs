//! `/v1/dev/keys` and `/v1/dev/key`.

use axum::{Json, extract::State, http::StatusCode};
use records::{Timestamp, UserId};
use secrecy::ExposeSecret;
use serde_json::Value;
use store::{Key, KeyRefusal, NewKey};

use super::path::Ids;
use crate::{
    Error, Scope,
    door::{Creating, Door},
    error::Code,
    keys::{Caller, generate},
    read::{Body, Choice, Fields, ListOf, Moment, Problem, Text, object},
    shapes,
};

/// What a 404 says is missing.
pub(super) const KIND: &str = "Key";

/// GET: all of a person's keys, newest first.
pub(super) async fn list(State(door): State<Door>, caller: Caller) -> Result<Json<Value>, Error> {
    caller.require(Scope::KeysRead)?;
    let keys = door.ledger.store().keys(&caller.user).await?;
    Ok(Json(keys.iter().map(shapes::key).collect()))
}

/// GET `/v1/dev/key`: the key that asks. Every key may know what it is.
pub(super) async fn own(State(door): State<Door>, caller: Caller) -> Result<Json<Value>, Error> {
    // Revoked and pruned since the caller was let in: it is no key any more.
    let own = find(&door, &caller.user, &caller.key_id).await?.ok_or(Error::NotAuthenticated)?;
    Ok(Json(shapes::key(&own)))
}

/// POST: a new key, which can do no more than the key that asks for it, and no longer. Its text is shown this once.
pub(super) async fn create(
    Creating(door): Creating,
    caller: Caller,
    body: Body,
) -> Result<Json<Value>, Error> {
    caller.require(Scope::KeysWrite)?;
    let wanted = object(body, read)?;
    for scope in &wanted.scopes {
        caller.require(*scope)?;
    }
    let expires_at = no_later(wanted.expires_at, caller.expires_at)?;
    let made = generate(door.ids.secret());
    let key = NewKey {
        id: door.ids.fresh().to_string(),
        name: wanted.name,
        prefix: made.hint,
        sha256: made.sha256,
        scopes: wanted.scopes.iter().map(|scope| scope.as_str().to_owned()).collect(),
        expires_at,
    };
    door.ledger.store().add_key(&caller.user, &key).await?.map_err(|refusal| match refusal {
        // A key of theirs has just been used. Gone meanwhile is gone.
        KeyRefusal::NoSuchPerson => Error::NotAuthenticated,
        KeyRefusal::TooMany => Error::Conflict(Code::TooManyKeys),
    })?;
    let stored = find(&door, &caller.user, &key.id).await?.ok_or(Error::NotFound(KIND))?;
    Ok(Json(shapes::with(shapes::key(&stored), "key", made.plaintext.expose_secret())))
}

/// DELETE: revokes a key at once.
pub(super) async fn revoke(
    State(door): State<Door>,
    caller: Caller,
    Ids(id): Ids<String>,
) -> Result<StatusCode, Error> {
    caller.require(Scope::KeysWrite)?;
    match door.ledger.store().revoke_key(&caller.user, &id).await? {
        true => Ok(StatusCode::NO_CONTENT),
        false => Err(Error::NotFound(KIND)),
    }
}

/// When a new key stops working: when it is asked to, or with the key that makes it, and never later than that.
fn no_later(wanted: Option<Timestamp>, own: Option<Timestamp>) -> Result<Option<Timestamp>, Error> {
    match (wanted, own) {
        (Some(wanted), Some(own)) if wanted > own => Err(Error::Invalid(vec![Problem::rule(
            vec!["body".into(), "expires_at".into()],
            "a key cannot outlive the key that makes it",
        )])),
        _ => Ok(wanted.or(own)),
    }
}

/// A key that is asked for.
pub(super) struct Wanted {
    name: String,
    scopes: Vec<Scope>,
    expires_at: Option<Timestamp>,
}

/// Reads the body of a create.
pub(super) fn read(fields: &mut Fields<'_>) -> Option<Wanted> {
    let name = fields.required("name", Text::between(1, 100));
    let known = Choice::of(Scope::ALL.iter().map(|scope| (scope.as_str(), *scope)));
    let scopes = fields.optional("scopes", ListOf { item: known, min: 1, max: 100 });
    let expires_at = fields.optional("expires_at", Moment).map(|expires| expires.at);
    let mut scopes = scopes.unwrap_or_else(|| Scope::DEFAULT.to_vec());
    scopes.sort_unstable();
    scopes.dedup();
    Some(Wanted { name: name?, scopes, expires_at })
}

/// One of a person's keys.
pub(super) async fn find(door: &Door, user: &UserId, id: &str) -> Result<Option<Key>, Error> {
    Ok(door.ledger.store().keys(user).await?.into_iter().find(|key| key.id == id))
}

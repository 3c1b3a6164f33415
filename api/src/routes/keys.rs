//! `/v1/dev/keys` and `/v1/dev/key`.

use axum::{Json, http::StatusCode};
use records::{Timestamp, UserId};
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use store::{Key, KeyRefusal, NewKey};

use super::{answer, path::Ids};
use crate::{
    Access, Answer, AppState, Caller, Code, Endpoint, Error, Problem, Reply, Scope,
    keys::generate,
    read::{Body, Choice, Fields, ListOf, Moment, Note, Text, object},
    shapes::{self, Words, words},
    takes,
};

pub(super) const KIND: &str = "Key";

const ALL: &str = "/v1/dev/keys";

pub(super) fn endpoints() -> Vec<Endpoint> {
    vec![
        Endpoint::get("/v1/dev/key", Access::AnyKey, own)
            .named("get_own_key", "Read the key that asks")
            .says("Any key may call it.")
            .answers(Answer::one::<shapes::Key>("The key.")),
        Endpoint::get(ALL, Scope::KeysRead, list)
            .named("list_keys", "List keys")
            .says("All keys of the user, newest first.")
            .answers(Answer::all::<shapes::Key>()),
        Endpoint::post(ALL, Scope::KeysWrite, create)
            .named("create_key", "Create a key")
            .says("The key's text is in this answer alone; only its hash is kept.")
            .creates(again)
            .body(
                "NewKey",
                takes(read, NEW),
                json!({ "name": "laptop", "scopes": ["conversations:read", "conversations:write"] }),
            )
            .answers(Answer::one::<shapes::CreatedKey>("The key works from now on.").leads_to(
                "revoke_key",
                "key_id",
                "/id",
            ))
            .conflict("There are 100 live keys already"),
        Endpoint::delete("/v1/dev/keys/{key_id}", Scope::KeysWrite, revoke)
            .named("revoke_key", "Revoke a key")
            .says("At once.")
            .answers(Answer::bare(204, "Revoked."))
            .not_found(KIND),
    ]
}

async fn again(state: AppState, user: UserId, ids: Vec<String>) -> Result<Value, Error> {
    let found = find(&state, &user, answer::only(&ids)?).await?;
    Ok(json!(shapes::key(&found.ok_or(Error::NotFound(KIND))?)))
}

pub(super) async fn list(state: AppState, caller: Caller) -> Reply<Vec<shapes::Key>> {
    let keys = state.ledger.store().keys(&caller.user).await?;
    Ok(Json(keys.iter().map(shapes::key).collect()))
}

/// GET `/v1/dev/key`: the key that asks. Every key may know what it is.
pub(super) async fn own(state: AppState, caller: Caller) -> Reply<shapes::Key> {
    // Revoked and pruned since the caller was let in: it is no key any more.
    let own =
        find(&state, &caller.user, &caller.key_id).await?.ok_or(Error::Refused(Code::NotAuthenticated))?;
    Ok(Json(shapes::key(&own)))
}

/// POST: a new key, which can do no more than the key that asks for it, and no longer. Its text is shown this once.
pub(super) async fn create(state: AppState, caller: Caller, body: Body) -> Reply<shapes::CreatedKey> {
    let wanted = object(body, read)?;
    for scope in &wanted.scopes {
        caller.require(*scope)?;
    }
    let expires_at = no_later(wanted.expires_at, caller.expires_at)?;
    let made = generate(state.ids.secret(), state.ledger.db().shard());
    let key = NewKey {
        id: state.ids.fresh().to_string(),
        name: wanted.name,
        prefix: made.hint,
        sha256: made.sha256,
        scopes: wanted.scopes.iter().map(|scope| scope.as_str().to_owned()).collect(),
        expires_at,
    };
    state.ledger.store().add_key(&caller.user, &key).await?.map_err(|refusal| match refusal {
        // A key of theirs has just been used. Gone meanwhile is gone.
        KeyRefusal::NoSuchPerson => Error::Refused(Code::NotAuthenticated),
        KeyRefusal::TooMany => Error::Refused(Code::TooManyKeys),
        KeyRefusal::Expired => wrong_end("expires_at must be in the future"),
    })?;
    let stored = find(&state, &caller.user, &key.id).await?.ok_or(Error::NotFound(KIND))?;
    Ok(Json(shapes::created_key(shapes::key(&stored), made.plaintext.expose_secret())))
}

pub(super) async fn revoke(
    state: AppState,
    caller: Caller,
    Ids(id): Ids<String>,
) -> Result<StatusCode, Error> {
    match state.ledger.store().revoke_key(&caller.user, &id).await? {
        true => Ok(StatusCode::NO_CONTENT),
        false => Err(Error::NotFound(KIND)),
    }
}

/// When a new key stops working: when it is asked to, or with the key that makes it, and never later than that.
fn no_later(wanted: Option<Timestamp>, own: Option<Timestamp>) -> Result<Option<Timestamp>, Error> {
    match (wanted, own) {
        (Some(wanted), Some(own)) if wanted > own => {
            Err(wrong_end("a key cannot outlive the key that makes it"))
        }
        _ => Ok(wanted.or(own)),
    }
}

fn wrong_end(words: &str) -> Error {
    Error::Invalid(vec![Problem::rule(vec!["body".into(), "expires_at".into()], words)])
}

/// A key that is asked for.
pub(super) struct Wanted {
    name: String,
    scopes: Vec<Scope>,
    expires_at: Option<Timestamp>,
}

const NEW: &[Note] = &[
    ("name", "What its owner calls it.", ""),
    (
        "scopes",
        "What it may do, at most what the key that asks may (403). Without it: the `:read` of conversations, action items, memories and goals.",
        "",
    ),
    (
        "expires_at",
        "When it stops working: in the future, and not after the key that asks (422). Without it: when that key does.",
        "",
    ),
];

pub(super) fn read(fields: &mut Fields<'_>) -> Option<Wanted> {
    let name = fields.required("name", Text::name());
    let known = words::Scope::in_request(Choice::of(Scope::ALL.iter().map(|scope| (scope.as_str(), *scope))));
    let scopes = fields.optional("scopes", ListOf { item: known, min: 1, max: 100 });
    let expires_at = fields.optional("expires_at", Moment).map(|expires| expires.at);
    let mut scopes = scopes.unwrap_or_else(|| Scope::DEFAULT.to_vec());
    scopes.sort_unstable();
    scopes.dedup();
    Some(Wanted { name: name?, scopes, expires_at })
}

pub(super) async fn find(state: &AppState, user: &UserId, id: &str) -> Result<Option<Key>, Error> {
    Ok(state.ledger.store().keys(user).await?.into_iter().find(|key| key.id == id))
}

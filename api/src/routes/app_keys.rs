//! `/v1/apps/{app_id}/keys`: what an app writes to its users with.

use axum::{Json, http::StatusCode};
use records::UserId;
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use store::{AppKeyRefusal, NewAppKey};

use super::{answer, apps, path::Ids};
use crate::{
    Answer, AppState, Caller, Code, Endpoint, Error, Reply, Scope,
    keys::generate_app_key,
    read::{Body, Fields, Text, optional_object},
    shapes, takes,
};

const KIND: &str = "Key";

const ALL: &str = "/v1/apps/{app_id}/keys";

pub(super) fn endpoints() -> Vec<Endpoint> {
    vec![
        Endpoint::post(ALL, Scope::AppsWrite, create)
            .named("create_app_key", "Create a key of an app")
            .says("The key's text is in this answer alone; only its hash is kept.")
            .creates(again)
            .optional_body(
                "NewAppKey",
                takes(read, &[("label", "What its owner calls it.", "\"key\"")]),
                json!({ "label": "production" }),
            )
            .answers(Answer::one::<shapes::CreatedAppKey>("It works from now on.").leads_to(
                "revoke_app_key",
                "key_id",
                "/id",
            ))
            .answers(apps::not_owner())
            .not_found(apps::KIND)
            .conflict("There are 20 live keys already"),
        Endpoint::get(ALL, Scope::AppsRead, list)
            .named("list_app_keys", "List the keys of an app")
            .says("Newest first.")
            .answers(Answer::all::<shapes::AppKey>())
            .answers(apps::not_owner())
            .not_found(apps::KIND),
        Endpoint::delete("/v1/apps/{app_id}/keys/{key_id}", Scope::AppsWrite, revoke)
            .named("revoke_app_key", "Revoke a key of an app")
            .says("At once.")
            .answers(Answer::bare(204, "It is no key any more."))
            .answers(apps::not_owner())
            .not_found(apps::KIND)
            .not_found(KIND),
    ]
}

/// The answer to a repeat: the key as it is now.
async fn again(state: AppState, user: UserId, ids: Vec<String>) -> Result<Value, Error> {
    let keys = state.ledger.store().app_keys(&user, answer::only(&ids)?).await?;
    let found = keys.iter().find(|one| ids.get(1) == Some(&one.id)).ok_or(Error::NotFound(KIND))?;
    Ok(json!(shapes::app_key(found)))
}

async fn list(state: AppState, caller: Caller, Ids(id): Ids<String>) -> Reply<Vec<shapes::AppKey>> {
    let app = apps::owned(&state, &caller.user, &id).await?;
    let keys = state.ledger.store().app_keys(&caller.user, &app.id).await?;
    Ok(Json(keys.iter().map(shapes::app_key).collect()))
}

async fn create(
    state: AppState,
    caller: Caller,
    Ids(id): Ids<String>,
    body: Body,
) -> Reply<shapes::CreatedAppKey> {
    let label = optional_object(body, read)?.flatten();
    let app = apps::owned(&state, &caller.user, &id).await?;
    let made = generate_app_key(state.ids.secret(), state.ledger.db().shard());
    let key = NewAppKey {
        id: state.ids.fresh().to_string(),
        label: label.unwrap_or_else(|| "key".to_owned()),
        prefix: made.hint,
        sha256: made.sha256,
    };
    let stored = state.ledger.store().create_app_key(&caller.user, &app.id, &key).await?;
    let stored = stored.map_err(|refusal| match refusal {
        AppKeyRefusal::NoSuchApp => Error::NotFound(apps::KIND),
        AppKeyRefusal::TooMany => Error::Refused(Code::TooManyAppKeys),
    })?;
    Ok(Json(shapes::created_app_key(shapes::app_key(&stored), made.plaintext.expose_secret())))
}

async fn revoke(
    state: AppState,
    caller: Caller,
    Ids((id, key)): Ids<(String, String)>,
) -> Result<StatusCode, Error> {
    let app = apps::owned(&state, &caller.user, &id).await?;
    match state.ledger.store().revoke_app_key(&caller.user, &app.id, &key).await? {
        true => Ok(StatusCode::NO_CONTENT),
        false => Err(Error::NotFound(KIND)),
    }
}

/// Reads the body of a create: its label, if it is given one.
fn read(fields: &mut Fields<'_>) -> Option<Option<String>> {
    Some(fields.optional("label", Text::name()))
}

//! `/v1/users/me/people`: whom the user knows; their names are those of speakers (DECISIONS §2 and §3, "speaker").

use axum::{
    Json,
    extract::State,
    http::{HeaderMap, Uri},
    response::Response,
};
use serde_json::Value;

use super::{answer, links, path::Ids, tagged};
use crate::{
    Error, Scope,
    door::{Creating, Door},
    keys::Caller,
    read::{Body, Fields, Page, Query, Text, object, page, query},
    shapes,
};

/// What a 404 says is missing.
pub(super) const KIND: &str = "Person";

/// GET: a page, newest first.
pub(super) async fn list(
    State(door): State<Door>,
    caller: Caller,
    uri: Uri,
    parameters: Query,
) -> Result<Response, Error> {
    caller.require(Scope::ProfileRead)?;
    let page = query(&parameters, read_page)?;
    let people = door.ledger.store().known_people(&caller.user, links::one_more(page), page.offset).await?;
    Ok(links::answer(&uri, page, &people, shapes::person))
}

/// POST: a new person.
pub(super) async fn create(
    Creating(door): Creating,
    caller: Caller,
    body: Body,
) -> Result<Json<Value>, Error> {
    caller.require(Scope::ProfileWrite)?;
    let name = object(body, name)?;
    let id = door.ids.fresh().to_string();
    Ok(Json(shapes::person(&door.ledger.store().know_person(&caller.user, &id, &name).await?)))
}

/// GET one.
pub(super) async fn one(
    State(door): State<Door>,
    caller: Caller,
    Ids(id): Ids<String>,
    asked: HeaderMap,
) -> Result<Response, Error> {
    caller.require(Scope::ProfileRead)?;
    let person = door.ledger.store().known_person(&caller.user, &id).await?.ok_or(Error::NotFound(KIND))?;
    Ok(tagged::answer(&asked, shapes::person(&person)))
}

/// PATCH: another name, in every conversation at once.
pub(super) async fn rename(
    State(door): State<Door>,
    caller: Caller,
    Ids(id): Ids<String>,
    body: Body,
) -> Result<Json<Value>, Error> {
    caller.require(Scope::ProfileWrite)?;
    let name = object(body, |fields| match fields.has_any(&["name"]) {
        true => name(fields),
        false => fields.report.rule("at least one field must be provided"),
    })?;
    let person =
        door.ledger.store().rename_person(&caller.user, &id, &name).await?.ok_or(Error::NotFound(KIND))?;
    Ok(Json(shapes::person(&person)))
}

/// DELETE: segments of that person show "Speaker N" again.
pub(super) async fn delete(
    State(door): State<Door>,
    caller: Caller,
    Ids(id): Ids<String>,
) -> Result<Json<Value>, Error> {
    caller.require(Scope::ProfileWrite)?;
    let deleted = door.ledger.store().forget_person(&caller.user, &id).await?;
    answer::deleted(deleted, KIND)
}

/// Reads the query of the list.
pub(super) fn read_page(fields: &mut Fields<'_>) -> Option<Page> {
    Some(page(fields, 100, 1_000))
}

/// Reads a name.
pub(super) fn name(fields: &mut Fields<'_>) -> Option<String> {
    let name = fields.required("name", Text::between(1, 100))?;
    if name.trim().is_empty() {
        return fields.report.at("name", |report| report.rule("name must not be blank"));
    }
    Some(name)
}

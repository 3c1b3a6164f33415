//! `/v1/users/me/people`: whom the user knows; their names are those of speakers (DECISIONS §2 and §3, "speaker").

use axum::{Json, http::HeaderMap};
use records::UserId;
use serde_json::{Value, json};

use super::{answer, links, path::Ids, tagged};
use crate::{
    Answer, Answered, AppState, Caller, Endpoint, Error, Reply, Scope,
    read::{Body, Fields, Page, Query, Text, object, page, query},
    shapes, takes,
};

const KIND: &str = "Person";

const ALL: &str = "/v1/users/me/people";
const ONE: &str = "/v1/users/me/people/{person_id}";

pub(super) fn endpoints() -> Vec<Endpoint> {
    let named = || takes(name, &[("name", "A name; not blank.", "")]);
    vec![
        Endpoint::get(ALL, Scope::ProfileRead, list)
            .named("list_people", "List known people")
            .says("Newest first. Their names are those of speakers.")
            .query(takes(
                read_page,
                &[
                    ("limit", "Maximum number of results.", "100"),
                    ("offset", "Number of results to skip.", "0"),
                ],
            ))
            .answers(Answer::page::<shapes::Person>()),
        Endpoint::post(ALL, Scope::ProfileWrite, create)
            .named("create_person", "Add a known person")
            .creates(again)
            .body("NewPerson", named(), json!({ "name": "Helena" }))
            .answers(
                Answer::one::<shapes::Person>("The person.")
                    .leads_to("get_person", "person_id", "/id")
                    .leads_to("update_person", "person_id", "/id")
                    .leads_to("delete_person", "person_id", "/id"),
            ),
        Endpoint::get(ONE, Scope::ProfileRead, one)
            .named("get_person", "Read a known person")
            .conditional()
            .answers(Answer::one::<shapes::Person>("The person."))
            .not_found(KIND),
        Endpoint::patch(ONE, Scope::ProfileWrite, rename)
            .named("update_person", "Rename a known person")
            .says("In every conversation at once.")
            .body("PersonChange", named(), json!({ "name": "Helena" }))
            .answers(Answer::one::<shapes::Person>("As they are now."))
            .not_found(KIND),
        Endpoint::delete(ONE, Scope::ProfileWrite, delete)
            .named("delete_person", "Forget a known person")
            .says("Their segments stay, as `Speaker N`.")
            .answers(Answer::one::<shapes::Success>("Deleted."))
            .not_found(KIND),
    ]
}

async fn again(state: AppState, user: UserId, ids: Vec<String>) -> Result<Value, Error> {
    let found = state.ledger.store().known_person(&user, answer::only(&ids)?).await?;
    Ok(json!(shapes::person(&found.ok_or(Error::NotFound(KIND))?)))
}

async fn list(state: AppState, caller: Caller, parameters: Query) -> Answered {
    let page = query(&parameters, read_page)?;
    let people = state.ledger.store().known_people(&caller.user, links::one_more(page), page.offset).await?;
    Ok(links::answer(&parameters.uri, page, &people, shapes::person))
}

async fn create(state: AppState, caller: Caller, body: Body) -> Reply<shapes::Person> {
    let name = object(body, name)?;
    let id = state.ids.fresh().to_string();
    Ok(Json(shapes::person(&state.ledger.store().know_person(&caller.user, &id, &name).await?)))
}

async fn one(state: AppState, caller: Caller, Ids(id): Ids<String>, asked: HeaderMap) -> Answered {
    let person = state.ledger.store().known_person(&caller.user, &id).await?.ok_or(Error::NotFound(KIND))?;
    Ok(tagged::answer(&asked, shapes::person(&person)))
}

async fn rename(state: AppState, caller: Caller, Ids(id): Ids<String>, body: Body) -> Reply<shapes::Person> {
    let name = object(body, |fields| {
        fields.needs_any(&["name"])?;
        name(fields)
    })?;
    let person =
        state.ledger.store().rename_person(&caller.user, &id, &name).await?.ok_or(Error::NotFound(KIND))?;
    Ok(Json(shapes::person(&person)))
}

async fn delete(state: AppState, caller: Caller, Ids(id): Ids<String>) -> answer::Deleted {
    let deleted = state.ledger.store().forget_person(&caller.user, &id).await?;
    answer::deleted(deleted, KIND)
}

fn read_page(fields: &mut Fields<'_>) -> Option<Page> {
    Some(page(fields, 100, 1_000))
}

fn name(fields: &mut Fields<'_>) -> Option<String> {
    fields.required("name", Text::name().not_blank("name must not be blank"))
}

//! `/v1/users/me`: a person's own settings (DECISIONS §2).

use axum::{Json, extract::State, http::HeaderMap, response::Response};
use chrono_tz::Tz;
use records::APPS;
use serde_json::Value;
use store::UserChange;

use super::tagged;
use crate::{
    Error, Scope,
    door::Door,
    keys::Caller,
    read::{Body, Bool, Choice, Fields, ListOf, Text, object},
    shapes,
};

/// What a PATCH may change.
const FIELDS: [&str; 5] = ["name", "time_zone", "language", "requires_byok", "apps"];

/// GET: the settings of the calling user.
pub(super) async fn show(
    State(door): State<Door>,
    caller: Caller,
    asked: HeaderMap,
) -> Result<Response, Error> {
    caller.require(Scope::ProfileRead)?;
    // The user was deleted since the key was looked up.
    let me = door.ledger.store().user(&caller.user).await?.ok_or(Error::NotAuthenticated)?;
    Ok(tagged::answer(&asked, shapes::user(&me)))
}

/// PATCH: at least one field. `requires_byok: true` parks queued jobs in the same transaction.
pub(super) async fn change(
    State(door): State<Door>,
    caller: Caller,
    body: Body,
) -> Result<Json<Value>, Error> {
    caller.require(Scope::ProfileWrite)?;
    let change = object(body, read_change)?;
    let me = door.ledger.change_user(&caller.user, &change).await?.ok_or(Error::NotAuthenticated)?;
    Ok(Json(shapes::user(&me)))
}

/// Reads the body of a PATCH.
pub(super) fn read_change(fields: &mut Fields<'_>) -> Option<UserChange> {
    let name = fields.nullable("name", Text::between(1, 100));
    let time_zone = fields.present("time_zone", Text::any());
    if time_zone.as_deref().is_some_and(|name| name.parse::<Tz>().is_err()) {
        let _: Option<()> = fields.report.at("time_zone", |report| {
            report.rule("time_zone must be the name of an IANA time zone, such as Europe/Berlin")
        });
    }
    let language = fields.present("language", Text::between(1, 35));
    let requires_byok = fields.present("requires_byok", Bool);
    let known = Choice::of(APPS.map(|name| (name, name)));
    let apps = fields.present("apps", ListOf { item: known, min: 0, max: APPS.len() });
    if !fields.has_any(&FIELDS) {
        return fields.report.rule("at least one field must be provided");
    }
    Some(UserChange {
        name,
        time_zone,
        language,
        requires_byok,
        apps: apps.map(once_each),
        ..UserChange::default()
    })
}

/// Each app once, in the order of the list of apps.
fn once_each(chosen: Vec<&str>) -> Vec<String> {
    APPS.into_iter().filter(|app| chosen.contains(app)).map(str::to_owned).collect()
}

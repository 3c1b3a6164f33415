//! `/v1/users/me`: a person's own settings (DECISIONS §2).

use axum::{Json, http::HeaderMap};
use chrono_tz::Tz;
use records::APPS;
use serde_json::json;
use store::UserChange;

use super::tagged;
use crate::{
    Answer, Answered, AppState, Caller, Code, Endpoint, Error, Reply, Scope,
    read::{Body, Bool, Choice, Fields, ListOf, Note, Text, object},
    shapes::{self, Words, words},
    takes,
};

/// What a PATCH may change.
const FIELDS: [&str; 5] = ["name", "time_zone", "language", "requires_byok", "apps"];

const PATH: &str = "/v1/users/me";

pub(super) fn endpoints() -> Vec<Endpoint> {
    vec![
        Endpoint::get(PATH, Scope::ProfileRead, show)
            .named("get_profile", "Read the user's settings")
            .conditional()
            .answers(Answer::one::<shapes::Profile>("The settings.")),
        Endpoint::patch(PATH, Scope::ProfileWrite, change)
            .named("update_profile", "Change the user's settings")
            .says("At least one field.")
            .body(
                "ProfileChange",
                takes(read_change, CHANGE),
                json!({ "time_zone": "Europe/London", "apps": ["minutes"] }),
            )
            .answers(Answer::one::<shapes::Profile>("As they are now.")),
    ]
}

async fn show(state: AppState, caller: Caller, headers: HeaderMap) -> Answered {
    // The user was deleted since the key was looked up.
    let me = state.ledger.store().user(&caller.user).await?.ok_or(Error::Refused(Code::NotAuthenticated))?;
    Ok(tagged::answer(&headers, shapes::user(&me)))
}

/// PATCH: at least one field. `requires_byok: true` parks queued jobs in the same transaction.
async fn change(state: AppState, caller: Caller, body: Body) -> Reply<shapes::Profile> {
    let change = object(body, read_change)?;
    let me = state
        .ledger
        .change_user(&caller.user, &change)
        .await?
        .ok_or(Error::Refused(Code::NotAuthenticated))?;
    Ok(Json(shapes::user(&me)))
}

const CHANGE: &[Note] = &[
    ("name", "The user's name as a speaker; null removes it.", ""),
    ("time_zone", "An IANA time zone, such as `Europe/Berlin`.", ""),
    ("language", "A language code: that of conversations that come without one.", ""),
    (
        "requires_byok",
        "Process conversations with the user's own model key only. `true` parks queued jobs.",
        "",
    ),
    ("apps", "Summarization apps that are to be on.", ""),
];

fn read_change(fields: &mut Fields<'_>) -> Option<UserChange> {
    let name = fields.nullable("name", Text::name());
    let time_zone = fields.present("time_zone", Text::any());
    if time_zone.as_deref().is_some_and(|name| name.parse::<Tz>().is_err()) {
        fields.refuse("time_zone", "time_zone must be the name of an IANA time zone, such as Europe/Berlin");
    }
    let language = fields.present("language", Text::between(1, 35));
    let requires_byok = fields.present("requires_byok", Bool);
    let known = words::SummaryApp::in_request(Choice::of(APPS.map(|name| (name, name))));
    let apps = fields.present("apps", ListOf { item: known, min: 0, max: APPS.len() });
    fields.needs_any(&FIELDS)?;
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

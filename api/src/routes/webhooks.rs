//! `P/webhooks`: the user's endpoints.

use axum::{Json, http::HeaderMap};
use base64::{Engine, engine::general_purpose::STANDARD};
use outbox::{EndpointChange, EndpointChangeRefusal, EndpointRefusal, NewEndpoint};
use records::UserId;
use records::{EventKind, WebhookFormat};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};

use super::{answer, path::Ids, tagged};
use crate::{
    Answer, Answered, AppState, Caller, Code, Endpoint, Error, Reply, Scope,
    read::{Body, Bool, Choice, Fields, ListOf, Named, Note, Text, named, object},
    shapes::{self, Words, words},
    takes,
};

pub(super) const KIND: &str = "Webhook";

const ALL: &str = "/v1/dev/user/webhooks";
const ONE: &str = "/v1/dev/user/webhooks/{endpoint_id}";

pub(super) fn endpoints() -> Vec<Endpoint> {
    vec![
        Endpoint::get(ALL, Scope::WebhooksRead, list)
            .named("list_webhooks", "List webhooks")
            .answers(Answer::all::<shapes::Webhook>()),
        Endpoint::post(ALL, Scope::WebhooksWrite, create)
            .named("create_webhook", "Create a webhook")
            .says("Deliveries are signed by the rules of Standard Webhooks with the `secret`, which is shown this once.")
            .creates(again)
            .body(
                "NewWebhook",
                takes(|fields| read_new(fields, |_| true), NEW),
                json!({ "url": "https://example.com/hook", "events": ["conversation.completed"] }),
            )
            .answers(
                Answer::one::<shapes::CreatedWebhook>("It receives events from now on.")
                    .leads_to("get_webhook", "endpoint_id", "/id")
                    .leads_to("update_webhook", "endpoint_id", "/id")
                    .leads_to("test_webhook", "endpoint_id", "/id")
                    .leads_to("list_webhook_deliveries", "endpoint_id", "/id")
                    .leads_to("recover_webhook", "endpoint_id", "/id")
                    .leads_to("rotate_webhook_secret", "endpoint_id", "/id")
                    .leads_to("delete_webhook", "endpoint_id", "/id"),
            )
            .conflict(Code::TooManyWebhooks.detail())
            .conflict(Code::WebhookExists.detail()),
        Endpoint::get(ONE, Scope::WebhooksRead, one)
            .named("get_webhook", "Read a webhook")
            .conditional()
            .answers(Answer::one::<shapes::Webhook>("The endpoint."))
            .not_found(KIND),
        Endpoint::patch(ONE, Scope::WebhooksWrite, change)
            .named("update_webhook", "Change a webhook")
            .says("At least one field.")
            .body(
                "WebhookChange",
                takes(|fields| read_change(fields, |_| true), CHANGE),
                json!({ "enabled": true }),
            )
            .answers(Answer::one::<shapes::Webhook>("As it is now."))
            .not_found(KIND)
            .conflict(Code::WebhookOfApp.detail())
            .conflict(Code::WebhookExists.detail()),
        Endpoint::delete(ONE, Scope::WebhooksWrite, delete)
            .named("delete_webhook", "Delete a webhook")
            .says("With its undelivered events.")
            .answers(Answer::one::<shapes::Success>("Deleted."))
            .not_found(KIND)
            .conflict(Code::WebhookOfApp.detail()),
        Endpoint::post("/v1/dev/user/webhooks/{endpoint_id}/rotate-secret", Scope::WebhooksWrite, rotate)
            .named("rotate_webhook_secret", "Rotate the secret of a webhook")
            .says(
                "For a day, deliveries carry the signature of the old secret, too. Rotated again within that day, they carry \
                 it until the day is over, and that of the newest one; the secret between, whose answer may have been lost, \
                 signs no more.",
            )
            .answers(Answer::one::<shapes::CreatedWebhook>("The new secret, shown this once."))
            .not_found(KIND)
            .conflict(Code::WebhookOfApp.detail()),
    ]
}

async fn again(state: AppState, user: UserId, ids: Vec<String>) -> Result<Value, Error> {
    let found = state.ledger.outbox().endpoint(&user, answer::only(&ids)?).await?;
    Ok(json!(shapes::endpoint(&found.ok_or(Error::NotFound(KIND))?)))
}

async fn list(state: AppState, caller: Caller) -> Reply<Vec<shapes::Webhook>> {
    let endpoints = state.ledger.outbox().endpoints(&caller.user).await?;
    Ok(Json(endpoints.iter().map(shapes::endpoint).collect()))
}

async fn create(state: AppState, caller: Caller, body: Body) -> Reply<shapes::CreatedWebhook> {
    let (url, events, form, force) = object(body, |fields| read_new(fields, |url| (state.check_url)(url)))?;
    let new = NewEndpoint {
        id: state.ids.fresh().to_string(),
        url,
        events,
        format: form,
        secret: new_secret(&state),
        force,
    };
    let stored = state.ledger.outbox().create_endpoint(&caller.user, &new).await?;
    let stored = stored.map_err(|refusal| match refusal {
        EndpointRefusal::TooMany => Error::Refused(Code::TooManyWebhooks),
        EndpointRefusal::SameUrl => Error::Refused(Code::WebhookExists),
    })?;
    Ok(Json(shapes::created_endpoint(shapes::endpoint(&stored), new.secret.expose_secret())))
}

const NEW: &[Note] = &[
    ("url", "An https URL of a public address.", ""),
    ("events", "The events that it subscribes to.", "[\"conversation.completed\"]"),
    ("format", "The whole conversation, or ids and status.", "\"full\""),
    (
        "force",
        "Also where the user has a webhook with this URL already: every event is then sent to it twice.",
        "false",
    ),
];

/// Reads the body of a create: the URL, which `may_call` judges, the events, the format, and whether the URL may be that of
/// another one.
fn read_new(
    fields: &mut Fields<'_>,
    may_call: impl Fn(&str) -> bool,
) -> Option<(String, Vec<EventKind>, WebhookFormat, bool)> {
    let url = fields.required("url", Text::between(1, 2_048));
    refuse_bad_url(fields, url.as_deref(), may_call);
    let wanted = fields.optional("events", events());
    let form = fields.optional("format", format()).unwrap_or(WebhookFormat::Full);
    let events = once_each(wanted.unwrap_or_else(|| vec![EventKind::ConversationCompleted]));
    let force = fields.optional("force", Bool).unwrap_or(false);
    Some((url?, events, form, force))
}

/// POST `…/rotate-secret`: a new secret, shown this once. Deliveries carry the old one's signature, too, for a day, also
/// where the new one is replaced within it.
async fn rotate(state: AppState, caller: Caller, Ids(id): Ids<String>) -> Reply<shapes::CreatedWebhook> {
    refuse_of_app(&state, &caller, &id).await?;
    let secret = new_secret(&state);
    let rotated = state.ledger.outbox().rotate_secret(&caller.user, &id, &secret).await?;
    let rotated = rotated.ok_or(Error::NotFound(KIND))?;
    Ok(Json(shapes::created_endpoint(shapes::endpoint(&rotated), secret.expose_secret())))
}

/// As Standard Webhooks writes them.
pub(super) fn new_secret(state: &AppState) -> SecretString {
    SecretString::from(format!("whsec_{}", STANDARD.encode(state.ids.secret())))
}

async fn one(state: AppState, caller: Caller, Ids(id): Ids<String>, asked: HeaderMap) -> Answered {
    let found = state.ledger.outbox().endpoint(&caller.user, &id).await?.ok_or(Error::NotFound(KIND))?;
    Ok(tagged::answer(&asked, shapes::endpoint(&found)))
}

async fn change(state: AppState, caller: Caller, Ids(id): Ids<String>, body: Body) -> Reply<shapes::Webhook> {
    let change = object(body, |fields| read_change(fields, |url| (state.check_url)(url)))?;
    refuse_of_app(&state, &caller, &id).await?;
    let changed = state.ledger.outbox().change_endpoint(&caller.user, &id, &change).await?;
    let changed = changed.map_err(|refusal| match refusal {
        EndpointChangeRefusal::Missing => Error::NotFound(KIND),
        EndpointChangeRefusal::SameUrl => Error::Refused(Code::WebhookExists),
    })?;
    Ok(Json(shapes::endpoint(&changed)))
}

const CHANGE: &[Note] = &[
    ("url", "An https URL of a public address.", ""),
    ("events", "The events that it subscribes to.", ""),
    ("format", "The whole conversation, or ids and status.", ""),
    ("enabled", "`true` clears every mark of failure.", ""),
    (
        "force",
        "Also to a URL that another webhook of the user has: every event is then sent to it twice.",
        "false",
    ),
];

fn read_change(fields: &mut Fields<'_>, may_call: impl Fn(&str) -> bool) -> Option<EndpointChange> {
    let url = fields.present("url", Text::between(1, 2_048));
    refuse_bad_url(fields, url.as_deref(), may_call);
    let change = EndpointChange {
        url,
        events: fields.present("events", events()).map(once_each),
        format: fields.present("format", format()),
        enabled: fields.present("enabled", Bool),
        force: fields.optional("force", Bool).unwrap_or(false),
    };
    fields.needs_any(&["url", "events", "format", "enabled"])?;
    Some(change)
}

async fn delete(state: AppState, caller: Caller, Ids(id): Ids<String>) -> answer::Deleted {
    refuse_of_app(&state, &caller, &id).await?;
    let deleted = state.ledger.outbox().delete_endpoint(&caller.user, &id).await?;
    answer::deleted(deleted, KIND)
}

/// A webhook that an app's installation made goes with the app, and is as the app says.
async fn refuse_of_app(state: &AppState, caller: &Caller, id: &str) -> Result<(), Error> {
    match state.ledger.outbox().endpoint(&caller.user, id).await? {
        Some(endpoint) if endpoint.app_id.is_some() => Err(Error::Refused(Code::WebhookOfApp)),
        _ => Ok(()),
    }
}

fn events() -> ListOf<Named<Choice<&'static str, EventKind>>> {
    let all = EventKind::ALL.iter().map(|event| (event.as_str(), *event));
    let known = words::WebhookEvent::in_request(Choice::of(all));
    ListOf { item: known, min: 1, max: EventKind::ALL.len() }
}

fn format() -> Named<Choice<&'static str, WebhookFormat>> {
    let known = [WebhookFormat::Full, WebhookFormat::Thin].map(|format| (format.as_str(), format));
    named("NewWebhookFormat", "The whole conversation, or ids and status.", Choice::of(known))
}

fn once_each(mut events: Vec<EventKind>) -> Vec<EventKind> {
    let mut seen = Vec::with_capacity(events.len());
    events.retain(|event| {
        let new = !seen.contains(event);
        seen.push(*event);
        new
    });
    events
}

pub(super) fn refuse_bad_url(fields: &mut Fields<'_>, url: Option<&str>, may_call: impl Fn(&str) -> bool) {
    if url.is_some_and(|url| !may_call(url)) {
        fields.refuse("url", "url must be an https URL of a public address, without user and password");
    }
}

//! `P/webhooks`: the user's endpoints.

use axum::{Json, extract::State, http::HeaderMap, response::Response};
use base64::{Engine, engine::general_purpose::STANDARD};
use outbox::{EndpointChange, EndpointRefusal, NewEndpoint};
use records::{EventKind, WebhookFormat};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

use super::{answer, path::Ids, tagged};
use crate::{
    Error, Scope,
    door::{Creating, Door},
    error::Code,
    keys::Caller,
    read::{Body, Bool, Choice, Fields, ListOf, Text, object},
    shapes,
};

/// What a 404 says is missing.
pub(super) const KIND: &str = "Webhook";

/// GET: all of a person's endpoints.
pub(super) async fn list(State(door): State<Door>, caller: Caller) -> Result<Json<Value>, Error> {
    caller.require(Scope::WebhooksRead)?;
    let endpoints = door.ledger.outbox().endpoints(&caller.user).await?;
    Ok(Json(endpoints.iter().map(shapes::endpoint).collect()))
}

/// POST: a new endpoint; the answer carries `secret`, this once.
pub(super) async fn create(
    Creating(door): Creating,
    caller: Caller,
    body: Body,
) -> Result<Json<Value>, Error> {
    caller.require(Scope::WebhooksWrite)?;
    let (url, events, form, force) = object(body, |fields| read_new(fields, |url| (door.check_url)(url)))?;
    let new = NewEndpoint {
        id: door.ids.fresh().to_string(),
        url,
        events,
        format: form,
        secret: new_secret(&door),
        force,
    };
    let stored = door.ledger.outbox().create_endpoint(&caller.user, &new).await?;
    let stored = stored.map_err(|refusal| match refusal {
        EndpointRefusal::TooMany => Error::Conflict(Code::TooManyWebhooks),
        EndpointRefusal::SameUrl => Error::Conflict(Code::WebhookExists),
    })?;
    Ok(Json(shapes::with(shapes::endpoint(&stored), "secret", new.secret.expose_secret())))
}

/// Reads the body of a create: the URL, which `may_call` judges, the events, the format, and whether the URL may be that of
/// another one.
pub(super) fn read_new(
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
pub(super) async fn rotate(
    State(door): State<Door>,
    caller: Caller,
    Ids(id): Ids<String>,
) -> Result<Json<Value>, Error> {
    caller.require(Scope::WebhooksWrite)?;
    refuse_of_app(&door, &caller, &id).await?;
    let secret = new_secret(&door);
    let rotated = door.ledger.outbox().rotate_secret(&caller.user, &id, &secret).await?;
    let shape = shapes::endpoint(&rotated.ok_or(Error::NotFound(KIND))?);
    Ok(Json(shapes::with(shape, "secret", secret.expose_secret())))
}

/// As Standard Webhooks writes them.
pub(super) fn new_secret(door: &Door) -> SecretString {
    SecretString::from(format!("whsec_{}", STANDARD.encode(door.ids.secret())))
}

/// GET one.
pub(super) async fn one(
    State(door): State<Door>,
    caller: Caller,
    Ids(id): Ids<String>,
    asked: HeaderMap,
) -> Result<Response, Error> {
    caller.require(Scope::WebhooksRead)?;
    let found = door.ledger.outbox().endpoint(&caller.user, &id).await?.ok_or(Error::NotFound(KIND))?;
    Ok(tagged::answer(&asked, shapes::endpoint(&found)))
}

/// PATCH: at least one of url, events, format, enabled.
pub(super) async fn change(
    State(door): State<Door>,
    caller: Caller,
    Ids(id): Ids<String>,
    body: Body,
) -> Result<Json<Value>, Error> {
    caller.require(Scope::WebhooksWrite)?;
    let change = object(body, |fields| read_change(fields, |url| (door.check_url)(url)))?;
    refuse_of_app(&door, &caller, &id).await?;
    let changed = door.ledger.outbox().change_endpoint(&caller.user, &id, &change).await?;
    Ok(Json(shapes::endpoint(&changed.ok_or(Error::NotFound(KIND))?)))
}

/// Reads the body of a PATCH.
pub(super) fn read_change(
    fields: &mut Fields<'_>,
    may_call: impl Fn(&str) -> bool,
) -> Option<EndpointChange> {
    let url = fields.present("url", Text::between(1, 2_048));
    refuse_bad_url(fields, url.as_deref(), may_call);
    let change = EndpointChange {
        url,
        events: fields.present("events", events()).map(once_each),
        format: fields.present("format", format()),
        enabled: fields.present("enabled", Bool),
    };
    if !fields.has_any(&["url", "events", "format", "enabled"]) {
        return fields.report.rule("at least one field must be provided");
    }
    Some(change)
}

/// DELETE: the endpoint, and its undelivered events.
pub(super) async fn delete(
    State(door): State<Door>,
    caller: Caller,
    Ids(id): Ids<String>,
) -> Result<Json<Value>, Error> {
    caller.require(Scope::WebhooksWrite)?;
    refuse_of_app(&door, &caller, &id).await?;
    let deleted = door.ledger.outbox().delete_endpoint(&caller.user, &id).await?;
    answer::deleted(deleted, KIND)
}

/// A webhook that an app's installation made goes with the app, and is as the app says.
async fn refuse_of_app(door: &Door, caller: &Caller, id: &str) -> Result<(), Error> {
    match door.ledger.outbox().endpoint(&caller.user, id).await? {
        Some(endpoint) if endpoint.app_id.is_some() => Err(Error::Conflict(Code::WebhookOfApp)),
        _ => Ok(()),
    }
}

fn events() -> ListOf<Choice<&'static str, EventKind>> {
    let known = Choice::of(EventKind::ALL.map(|event| (event.as_str(), event)));
    ListOf { item: known, min: 1, max: EventKind::ALL.len() }
}

fn format() -> Choice<&'static str, WebhookFormat> {
    Choice::of([WebhookFormat::Full, WebhookFormat::Thin].map(|format| (format.as_str(), format)))
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
        let _: Option<()> =
            fields.report.at("url", |report| report.rule("url must be an https URL of a public address"));
    }
}

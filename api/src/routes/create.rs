//! `POST P/conversations` and `POST P/conversations/from-segments`: a conversation and its job are committed
//! first; then the request waits for the job, a while.

use axum::{Json, http::HeaderMap};
use chrono::TimeDelta;
use ledger::{CreateOutcome, NewContent, NewConversation};
use records::{Conversation, ConversationId, Geolocation, Source, Timestamp, UserId};
use secrecy::SecretString;
use serde_json::{Value, json};

use super::{byok, geolocation::geolocation, location, segments, waiting};
use crate::{
    Error, Scope, Settings,
    door::{Creating, Door},
    ids::of_client_session,
    keys::Caller,
    read::{Body, Bool, Choice, Fields, Moment, Object, Text, in_calendar, object},
};

/// Why a time that follows from others is refused.
pub(super) const OUT_OF_CALENDAR: &str = "the conversation must lie within the years 1 to 9999";

/// POST from plain text.
pub(super) async fn from_text(
    Creating(door): Creating,
    caller: Caller,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<Value>, Error> {
    caller.require(Scope::ConversationsWrite)?;
    let key = byok::key_of(&headers)?;
    let fresh = ConversationId::new(door.ids.fresh().to_string());
    let new = object(body, |fields| read_text(fields, &fresh))?;
    create(&door, &caller, new, key).await
}

/// POST from diarized segments; a repeat of a `client_session_id` names the same conversation.
pub(super) async fn from_segments(
    Creating(door): Creating,
    caller: Caller,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<Value>, Error> {
    caller.require(Scope::ConversationsWrite)?;
    let key = byok::key_of(&headers)?;
    let fresh = ConversationId::new(door.ids.fresh().to_string());
    let mut new = object(body, |fields| read_segments(fields, &fresh, &door.settings))?;
    if let Some(session) = &new.client_session_id {
        new.id = ConversationId::new(of_client_session(caller.user.as_str(), session).to_string());
    }
    if new.deferred && !door.settings.finalize_enabled {
        return Err(Error::FinalizationUnavailable);
    }
    create(&door, &caller, new, key).await
}

/// Reads the body of a create from text.
pub(super) fn read_text(fields: &mut Fields<'_>, fresh: &ConversationId) -> Option<NewConversation> {
    let text = fields.required("text", Text::between(1, 100_000));
    if text.as_deref().is_some_and(|text| text.trim().is_empty()) {
        let _: Option<()> = fields.report.at("text", |report| report.rule("text must not be blank"));
    }
    let kinds = Choice::of(["audio_transcript", "message", "other_text"].map(|name| (name, name)));
    let text_source = fields.present("text_source", kinds).unwrap_or("other_text").to_owned();
    let text_source_spec = fields.optional("text_source_spec", Text::label());
    let setting = setting(fields)?;
    let text = text?.trim().to_owned();
    setting.fits(fields, TimeDelta::minutes(5))?;
    let content = NewContent::Text { text, text_source, text_source_spec };
    Some(setting.of(fresh, content, Source::new("external_integration")))
}

/// Reads the body of a create from segments.
pub(super) fn read_segments(
    fields: &mut Fields<'_>,
    fresh: &ConversationId,
    settings: &Settings,
) -> Option<NewConversation> {
    let spoken = segments::list(fields);
    let vendors = settings.vendor_sources.iter().map(String::as_str);
    let known = Choice::of(Source::GENERIC.into_iter().chain(vendors).map(|name| (name, name)));
    let source = Source::new(fields.optional("source", known).unwrap_or("phone"));
    let setting = setting(fields);
    let client_session_id = fields.optional("client_session_id", Text::between(1, 200));
    let client_device_id = fields.optional("client_device_id", Text::label());
    let client_platform = fields.optional("client_platform", Text::label());
    let deferred = fields.optional("defer_processing", Bool).unwrap_or(false);
    let (spoken, setting) = (spoken?, setting?);
    let last = spoken.iter().map(|segment| segment.end).fold(0.0, f64::max);
    setting.fits(fields, TimeDelta::seconds(last.ceil() as i64))?;
    let new = setting.of(fresh, NewContent::Segments(spoken), source);
    Some(NewConversation { client_session_id, client_device_id, client_platform, deferred, ..new })
}

/// What both creates say about a talk besides its words.
struct Setting {
    started_at: Option<Timestamp>,
    finished_at: Option<Timestamp>,
    language: Option<String>,
    geolocation: Option<Geolocation>,
}

fn setting(fields: &mut Fields<'_>) -> Option<Setting> {
    let started_at = fields.optional("started_at", Moment).map(|started| started.at);
    let finished_at = fields.optional("finished_at", Moment).map(|finished| finished.at);
    let language = fields.optional("language", Text::between(1, 35));
    let geolocation = fields.optional("geolocation", Object(geolocation));
    match (started_at, finished_at) {
        (Some(started), Some(finished)) if finished < started && fields.report.is_clean() => {
            fields.report.rule("finished_at must not be before started_at")
        }
        _ => Some(Setting { started_at, finished_at, language, geolocation }),
    }
}

impl Setting {
    /// A time that follows from the other one must be one that clients can read.
    fn fits(&self, fields: &mut Fields<'_>, length: TimeDelta) -> Option<()> {
        let derived = match (self.started_at, self.finished_at) {
            (Some(started), None) => started.checked_add_signed(length),
            (None, Some(finished)) => finished.checked_sub_signed(length),
            _ => return Some(()),
        };
        match derived.is_some_and(in_calendar) {
            true => Some(()),
            false => fields.report.rule(OUT_OF_CALENDAR),
        }
    }

    fn of(self, id: &ConversationId, content: NewContent, source: Source) -> NewConversation {
        NewConversation {
            started_at: self.started_at,
            finished_at: self.finished_at,
            geolocation: self.geolocation,
            language: self.language,
            ..NewConversation::new(id.clone(), content, source)
        }
    }
}

async fn create(
    door: &Door,
    caller: &Caller,
    new: NewConversation,
    key: Option<SecretString>,
) -> Result<Json<Value>, Error> {
    let (id, user) = (new.id.clone(), &caller.user);
    let place = new.geolocation.clone().map(|place| (place, new.started_at));
    let outcome = match key {
        None => door.ledger.create_conversation(user, new).await?,
        Some(key) => byok::create(door, user, new, key).await?,
    };
    caller.account.release_body();
    if let Some((place, started_at)) = &place {
        location::note_of_conversation(door, user, place, *started_at).await;
    }
    match outcome {
        CreateOutcome::Deferred(conversation) | CreateOutcome::Known(conversation) => {
            Ok(answer(&conversation))
        }
        CreateOutcome::Deleted => Ok(deleted(&id)),
        CreateOutcome::Admitted(admitted) => {
            if admitted.fresh {
                door.metrics.admissions.with_label_values(&["create"]).inc();
            }
            waiting::for_the_end(&door.ledger, user, &id, door.settings.create_wait).await;
            Ok(match door.ledger.store().conversation(user, &id, false).await {
                Ok(Some(view)) => answer(&view.conversation),
                Ok(None) => deleted(&id),
                // The commit happened: what is not known now is answered as it was.
                Err(_) => answer(&admitted.conversation),
            })
        }
    }
}

/// The answer to a create, of a conversation as it is now.
pub(super) async fn present(door: &Door, user: &UserId, id: &ConversationId) -> Result<Value, Error> {
    let view = door.ledger.store().conversation(user, id, false).await?;
    let Json(shape) = view.map_or_else(|| deleted(id), |view| answer(&view.conversation));
    Ok(shape)
}

fn answer(conversation: &Conversation) -> Json<Value> {
    Json(json!({
        "id": conversation.id.as_str(),
        "status": conversation.status.as_str(),
        "discarded": conversation.discarded,
    }))
}

/// Deleted by its owner, before or meanwhile (DECISIONS §3, "client_session_id").
fn deleted(id: &ConversationId) -> Json<Value> {
    Json(json!({ "id": id.as_str(), "status": "deleted", "discarded": true }))
}

//! `POST P/conversations` and `POST P/conversations/from-segments`: a conversation and its job are committed
//! first; then the request waits for the job, a while.

use axum::{Json, http::HeaderMap};
use chrono::TimeDelta;
use ledger::{Admitted, CreateOutcome, NewContent, NewConversation};
use records::{ConversationId, Geolocation, Source, Timestamp, UserId};
use secrecy::SecretString;
use serde_json::{Value, json};

use super::{
    answer, byok,
    location::{self, geolocation_field},
    segments, waiting,
};
use crate::{
    Answer, AppState, Caller, Code, Endpoint, Error, Reply, Scope, Settings,
    ids::of_client_session,
    read::{Body, Bool, Choice, Fields, Moment, Note, Text, in_calendar, named, object},
    shapes::{self, CreatedConversation, words::sources},
    state::Wait,
    takes,
};

const WAITS: &str = "Answers when it is processed, or, when that takes longer than a while (25 seconds unless configured), \
    with the status `processing`; the work goes on, whatever becomes of the connection.";

pub(super) fn endpoints(settings: &Settings) -> Vec<Endpoint> {
    let id = ConversationId::new("");
    vec![
        Endpoint::post("/v1/dev/user/conversations", Scope::ConversationsWrite, from_text)
            .named("create_conversation", "Create a conversation from text")
            .says(WAITS)
            .waits(Wait::Job)
            .creates(again)
            .resumes(byok::resume)
            .takes_model_key()
            .body(
                "NewConversationFromText",
                takes(|fields| read_text(fields, &id), TEXT),
                json!({
                    "text": "I need to call the dentist by Friday. My sister lives in Porto.",
                    "text_source": "message",
                }),
            )
            .answers(created()),
        Endpoint::post("/v1/dev/user/conversations/from-segments", Scope::ConversationsWrite, from_segments)
            .named("create_conversation_from_segments", "Create a conversation from segments")
            .says(WAITS)
            .waits(Wait::Job)
            .creates(again)
            .resumes(byok::resume)
            .takes_model_key()
            .body(
                "NewConversationFromSegments",
                takes(|fields| read_segments(fields, &id, settings), SEGMENTS),
                json!({ "transcript_segments": segments::example(), "client_session_id": "talk-1" }),
            )
            .answers(created()),
    ]
}

fn created() -> Answer {
    Answer::one::<shapes::CreatedConversation>("Stored, and processed or being processed.")
        .leads_to("get_conversation", "conversation_id", "/id")
        .leads_to("update_conversation", "conversation_id", "/id")
        .leads_to("append_segments", "conversation_id", "/id")
        .leads_to("finalize_conversation", "conversation_id", "/id")
        .leads_to("reprocess_conversation", "conversation_id", "/id")
        .leads_to("get_finalization", "conversation_id", "/id")
        .leads_to("delete_conversation", "conversation_id", "/id")
}

/// The answer to a repeat: the conversation as it is now.
async fn again(state: AppState, user: UserId, ids: Vec<String>) -> Result<Value, Error> {
    let id = ConversationId::new(answer::only(&ids)?);
    let view = state.ledger.store().conversation(&user, &id, false).await?;
    Ok(json!(view.map_or_else(|| shapes::deleted(&id), |view| shapes::created(&view.conversation))))
}

async fn from_text(
    state: AppState,
    caller: Caller,
    headers: HeaderMap,
    body: Body,
) -> Reply<CreatedConversation> {
    let key = byok::key_of(&headers)?;
    let fresh = ConversationId::new(state.ids.fresh().to_string());
    let new = object(body, |fields| read_text(fields, &fresh))?;
    create(&state, &caller, new, key).await
}

/// POST from diarized segments; a repeat of a `client_session_id` names the same conversation.
async fn from_segments(
    state: AppState,
    caller: Caller,
    headers: HeaderMap,
    body: Body,
) -> Reply<CreatedConversation> {
    let key = byok::key_of(&headers)?;
    let fresh = ConversationId::new(state.ids.fresh().to_string());
    let mut new = object(body, |fields| read_segments(fields, &fresh, &state.settings))?;
    if let Some(session) = &new.client_session_id {
        new.id = ConversationId::new(of_client_session(caller.user.as_str(), session).to_string());
    }
    if new.deferred && !state.settings.finalize_enabled {
        return Err(Error::Refused(Code::FinalizationUnavailable));
    }
    create(&state, &caller, new, key).await
}

const TEXT: &[Note] = &[
    (
        "text",
        "What was said or written. It is processed and not shown again. White space around it is dropped; more than that must be in it.",
        "",
    ),
    ("text_source", "What kind of text it is; passed on to the model.", "\"other_text\""),
    ("text_source_spec", "More about that: email, chat app, meeting notes.", ""),
    ("started_at", "When it began. Without it: now, or five minutes before `finished_at`.", ""),
    ("finished_at", "When it ended, not before it began. Without it: five minutes after it began.", ""),
    LANGUAGE,
    GEOLOCATION,
];

// No default: generated clients would send it, whatever the user's own language is.
const LANGUAGE: Note =
    ("language", "A language code. Without it: the user's own `language`, which is `en` at first.", "");
const GEOLOCATION: Note = ("geolocation", "Where it happened.", "");

fn read_text(fields: &mut Fields<'_>, fresh: &ConversationId) -> Option<NewConversation> {
    let text = fields.required("text", Text::between(1, 100_000).not_blank("text must not be blank"));
    let kinds = Choice::of(["audio_transcript", "message", "other_text"].map(|name| (name, name)));
    let kinds = named("TextSource", "What kind of text it is.", kinds);
    let text_source = fields.present("text_source", kinds).unwrap_or("other_text").to_owned();
    let text_source_spec = fields.optional("text_source_spec", Text::label());
    let setting = setting(fields);
    let text = text?.trim().to_owned();
    setting.fits(fields, TimeDelta::minutes(5))?;
    let content = NewContent::Text { text, text_source, text_source_spec };
    Some(setting.of(fresh, content, Source::new("external_integration")))
}

const SEGMENTS: &[Note] = &[
    ("transcript_segments", "What was said, in order.", ""),
    ("source", "Where it comes from.", "\"phone\""),
    ("started_at", "When it began. Without it: now, or `finished_at` less the length.", ""),
    ("finished_at", "When it ended. Without it: the largest `end` after it began.", ""),
    LANGUAGE,
    GEOLOCATION,
    (
        "client_session_id",
        "The client's own name for this conversation: a repeat names the same conversation and never processes it twice.",
        "",
    ),
    ("client_device_id", "The device, in the form `{platform}_{hash}`.", ""),
    ("client_platform", "Such as `ios`, `android` or `macos`.", ""),
    ("defer_processing", "Store it `in_progress`, to be appended to and finalized later.", "false"),
];

fn read_segments(
    fields: &mut Fields<'_>,
    fresh: &ConversationId,
    settings: &Settings,
) -> Option<NewConversation> {
    let spoken = segments::list(fields);
    let source = Source::new(fields.optional("source", sources(settings)).unwrap_or("phone"));
    let setting = setting(fields);
    let client_session_id = fields.optional("client_session_id", Text::between(1, 200));
    let client_device_id = fields.optional("client_device_id", Text::label());
    let client_platform = fields.optional("client_platform", Text::label());
    let deferred = fields.optional("defer_processing", Bool).unwrap_or(false);
    let spoken = spoken?;
    let last = spoken.iter().map(|segment| segment.end).fold(0.0, f64::max);
    setting.fits(fields, TimeDelta::seconds(last.ceil() as i64))?;
    let new = setting.of(fresh, NewContent::Segments(spoken), source);
    Some(NewConversation { client_session_id, client_device_id, client_platform, deferred, ..new })
}

/// What both creates say about a conversation besides its words.
struct Setting {
    started_at: Option<Timestamp>,
    finished_at: Option<Timestamp>,
    language: Option<String>,
    geolocation: Option<Geolocation>,
}

fn setting(fields: &mut Fields<'_>) -> Setting {
    Setting {
        started_at: fields.optional("started_at", Moment).map(|started| started.at),
        finished_at: fields.optional("finished_at", Moment).map(|finished| finished.at),
        language: fields.optional("language", Text::between(1, 35)),
        geolocation: fields.optional("geolocation", geolocation_field()),
    }
}

impl Setting {
    /// The rules between the fields of a body, once each of its fields is right: the times are in order, and one that follows
    /// from the other is one that clients can read.
    fn fits(&self, fields: &mut Fields<'_>, length: TimeDelta) -> Option<()> {
        if !fields.report.is_clean() {
            return None;
        }
        let derived = match (self.started_at, self.finished_at) {
            (Some(started), Some(finished)) if finished < started => {
                return fields.report.rule("finished_at must not be before started_at");
            }
            (Some(started), None) => started.checked_add_signed(length),
            (None, Some(finished)) => finished.checked_sub_signed(length),
            _ => return Some(()),
        };
        match derived.is_some_and(in_calendar) {
            true => Some(()),
            false => fields.report.rule(segments::OUT_OF_CALENDAR),
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
    state: &AppState,
    caller: &Caller,
    new: NewConversation,
    key: Option<SecretString>,
) -> Reply<CreatedConversation> {
    let (id, user) = (new.id.clone(), &caller.user);
    let outcome = match key {
        None => state.ledger.create_conversation(user, new, None).await?,
        Some(key) => byok::create(state, user, new, key).await?,
    };
    caller.account.release_body();
    if let CreateOutcome::Deferred(conversation)
    | CreateOutcome::Admitted(Admitted { conversation, fresh: true, .. }) = &outcome
    {
        location::note_of_conversation(state, user, conversation).await;
    }
    match outcome {
        CreateOutcome::Deferred(conversation) | CreateOutcome::Known(conversation) => {
            Ok(Json(shapes::created(&conversation)))
        }
        CreateOutcome::Deleted => Ok(Json(shapes::deleted(&id))),
        CreateOutcome::Admitted(admitted) => {
            if admitted.fresh {
                state.metrics.admissions.with_label_values(&["create"]).inc();
            }
            waiting::for_the_end(&state.ledger, user, &id, state.settings.create_wait).await;
            let read = state.ledger.store().conversation(user, &id, false);
            Ok(Json(match state.ledger.db().within(state.settings.database_wait / 4, read).await {
                Ok(Some(view)) => shapes::created(&view.conversation),
                Ok(None) => shapes::deleted(&id),
                // The commit happened: what is not known now is answered as it was.
                Err(_) => shapes::created(&admitted.conversation),
            }))
        }
    }
}

//! `/v2/messages`: the chat with the assistant. A message is answered by a turn, whose events are streamed to the client as
//! they happen, or whose reply comes in one body.

use std::{convert::Infallible, time::Duration};

use assistant::Event;
use axum::{
    Json,
    body::{Body as Streamed, Bytes},
    http::{HeaderMap, HeaderValue, header},
    response::{IntoResponse, Response},
};
use futures::stream;
use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedReceiver;
use uuid::Uuid;

use super::byok;
use crate::{
    Answer, Answered, AppState, Caller, Code, Endpoint, Error, Scope,
    chat::{self, Begun, Message, Reply},
    completion::run_to_completion,
    read::{Body, Fields, Int, Note, Query, Report, Take, Text, object, query},
    shapes,
    state::Wait,
    takes,
};

/// What a 404 says is missing.
pub(super) const KIND: &str = "App";
/// Of a message (`docs/assistant.md`).
const TEXT: Text = Text::between(1, 8_000).not_blank("the text must not be blank");
const ID: Text = Text::between(1, 128);
/// Between two signs of life of a stream.
const QUIET: Duration = Duration::from_secs(15);

const PATH: &str = "/v2/messages";

pub(super) fn endpoints() -> Vec<Endpoint> {
    let busy = || {
        Answer::refusal(409, "Right, but not now.", "A turn is already running in this chat")
            .with_header("Retry-After")
    };
    vec![
        Endpoint::post(PATH, Scope::ChatWrite, post)
            .named("post_message", "Ask the assistant")
            .says(
                "Answers with the reply in one body when the request has `Accept: application/json` (generated clients do \
                 not send it by themselves), and else with a stream of events (`text/event-stream`): `status` {text}, \
                 `tool` {name, app_id, state}, `text` {delta}, `error` {code, detail, final}, and at the end `done` \
                 {message}. The turn goes on when the client hangs up; its reply is in the list of messages, and comes to \
                 a repeat of the same `id`. While its `status` is `running`, or its error is not `final`, it may still \
                 change: ask again. The assistant does what the key may do: each of its tools needs its own scope.",
            )
            .waits(Wait::Turn)
            .query(takes(
                read_thread,
                &[("app_id", "The chat of this installed app; the main chat when it is left out.", "")],
            ))
            .takes_model_key()
            .body(
                "NewMessage",
                takes(read_message, MESSAGE),
                json!({"text": "What did I talk about yesterday?"}),
            )
            .answers(Answer::one::<shapes::Message>("The reply.").also_streamed())
            .not_found(KIND)
            .answers(busy()),
        Endpoint::get(PATH, Scope::ChatRead, list)
            .named("list_messages", "List messages")
            .says(
                "The newest messages of a chat, oldest first. `Link` with `next` leads to those before them. A reply whose \
                 `status` is `running`, or whose error is not `final`, may still change.",
            )
            .query(takes(read_list, LIST))
            .answers(Answer::page::<shapes::Message>()),
        Endpoint::delete(PATH, Scope::ChatWrite, clear)
            .named("clear_messages", "Clear a chat")
            .says("Removes all its messages for good. What the assistant wrote elsewhere (tasks, memories) stays.")
            .query(takes(
                read_thread,
                &[("app_id", "The chat of this app; the main chat when it is left out.", "")],
            ))
            .answers(Answer::one::<shapes::Success>("Deleted."))
            .answers(busy()),
    ]
}

const MESSAGE: &[Note] = &[
    ("text", "What is asked.", ""),
    ("id", "A name of the client's own: a repeat asks nothing again and answers with what came of it.", ""),
];

const LIST: &[Note] = &[
    ("app_id", "The chat of this app; the main chat when it is left out.", ""),
    ("limit", "At most this many.", "100"),
    ("before", "Only messages before this one.", ""),
];

/// Reads the query of a message.
pub(super) fn read_thread(fields: &mut Fields<'_>) -> Option<Option<String>> {
    Some(fields.present("app_id", ID))
}

/// Reads the body of a message: its text, and the client's own id of it.
pub(super) fn read_message(fields: &mut Fields<'_>) -> Option<(String, Option<String>)> {
    let text = fields.required("text", TEXT);
    let id = fields.optional("id", ID);
    Some((text?, id))
}

pub(super) async fn post(
    state: AppState,
    caller: Caller,
    parameters: Query,
    headers: HeaderMap,
    body: Body,
) -> Answered {
    let (text, id) = object(body, read_message)?;
    let app_id = query(&parameters, read_thread)?;
    let key = byok::key_of(&headers)?;
    let message = Message { text, id, app_id, key };
    // A message that is stored has a turn, also when its client hangs up in between.
    let begun = run_to_completion(async move { chat::begin(&state, &caller, message).await }).await?;
    if wants_one_body(&headers) {
        return Ok(Json(whole(begun).await).into_response());
    }
    Ok(streamed(begun))
}

/// Whether the client asks for the finished reply in one body.
fn wants_one_body(headers: &HeaderMap) -> bool {
    let mut kinds = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let names = |kinds: &str, kind: &str| kinds.to_ascii_lowercase().contains(kind);
    let all: Vec<&str> = kinds.by_ref().collect();
    all.iter().any(|kinds| names(kinds, "application/json"))
        && !all.iter().any(|kinds| names(kinds, "text/event-stream"))
}

/// Waits for the end of a turn.
async fn whole(begun: Begun) -> shapes::Message {
    match begun {
        Begun::Known(message) => *message,
        Begun::Runs(mut events, reply) => loop {
            match events.recv().await {
                Some(Event::Over(over)) => return chat::ended(&reply, &over),
                Some(_) => {}
                // The turn broke: its row says so once its time is over.
                None => return chat::ended(&reply, &interrupted()),
            }
        },
    }
}

fn interrupted() -> assistant::Reply {
    assistant::Reply {
        status: assistant::ReplyStatus::Failed,
        trouble: Some(assistant::Trouble::Internal),
        text: String::new(),
        sources: Vec::new(),
        tools: Vec::new(),
        engine: String::new(),
    }
}

/// The events of a turn as they happen (`docs/assistant.md`, "The stream").
fn streamed(begun: Begun) -> Response {
    let body = match begun {
        Begun::Known(message) => Streamed::from(event("done", &json!({ "message": message }))),
        Begun::Runs(events, reply) => Streamed::from_stream(stream::unfold(Some((events, reply)), next)),
    };
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
        (header::HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no")),
    ];
    (headers, body).into_response()
}

type Following = Option<(UnboundedReceiver<Event>, Reply)>;

async fn next(following: Following) -> Option<(Result<Bytes, Infallible>, Following)> {
    let (mut events, reply) = following?;
    let written = match tokio::time::timeout(QUIET, events.recv()).await {
        Err(_) => Bytes::from_static(b": still here\n\n"),
        Ok(Some(Event::Status(text))) => event("status", &json!({ "text": text })),
        Ok(Some(Event::Tool { name, app_id, state })) => {
            event("tool", &json!({"name": name, "app_id": app_id, "state": state.as_str()}))
        }
        Ok(Some(Event::Text(delta))) => event("text", &json!({ "delta": delta })),
        Ok(Some(Event::Over(over))) => return Some((Ok(last(&reply, &over)), None)),
        Ok(None) => return Some((Ok(last(&reply, &interrupted())), None)),
    };
    Some((Ok(written), Some((events, reply))))
}

/// A failure is an event of its own; the message comes last in any case.
fn last(reply: &Reply, over: &assistant::Reply) -> Bytes {
    let done = event("done", &json!({ "message": chat::ended(reply, over) }));
    match over.trouble {
        None => done,
        Some(trouble) => [event("error", &json!(shapes::message_error(trouble))), done].concat().into(),
    }
}

fn event(name: &str, data: &Value) -> Bytes {
    format!("event: {name}\ndata: {data}\n\n").into()
}

/// The id of a message.
struct MessageId;

impl Take for MessageId {
    type Out = Uuid;

    fn take(&self, value: &Value, report: &mut Report) -> Option<Uuid> {
        let id = value.as_str().and_then(|text| text.parse().ok());
        id.or_else(|| report.rule("the id of a message is a UUID"))
    }

    fn schema(&self) -> Value {
        json!({"type": "string", "format": "uuid"})
    }
}

/// What a list asks for.
pub(super) struct Asked {
    app_id: Option<String>,
    limit: i64,
    before: Option<Uuid>,
}

/// Reads the query of the list.
pub(super) fn read_list(fields: &mut Fields<'_>) -> Option<Asked> {
    let app_id = fields.present("app_id", ID);
    let limit = fields.present("limit", Int::between(1, 100)).unwrap_or(100);
    let before = fields.present("before", MessageId);
    Some(Asked { app_id, limit, before })
}

pub(super) async fn list(state: AppState, caller: Caller, parameters: Query) -> Answered {
    let Asked { app_id, limit, before } = query(&parameters, read_list)?;
    let before = before.map(|id| id.to_string());
    let thread = chat::thread(app_id.as_deref());
    let newest =
        state.ledger.store().chat_messages(&caller.user, thread, before.as_deref(), limit + 1).await?;
    let names = state.settings.chat.apps.names(&caller.user).await;
    let size = usize::try_from(limit).unwrap_or(usize::MAX);
    let has_more = newest.len() > size;
    let shown: Vec<_> = newest.into_iter().take(size).rev().collect();
    let shapes: Vec<_> = shown.iter().map(|message| shapes::message(message, &names)).collect();
    let mut answer = Json(shapes).into_response();
    if let Some(oldest) = shown.first().filter(|_| has_more) {
        let app = app_id.map(|app| format!("app_id={}&", encoded(&app))).unwrap_or_default();
        let link = format!(
            "<{}?{app}limit={limit}&before={}>; rel=\"next\"",
            parameters.uri.path(),
            oldest.message_id
        );
        if let Ok(link) = HeaderValue::from_str(&link) {
            answer.headers_mut().insert(header::LINK, link);
        }
    }
    Ok(answer)
}

/// As a query's value is written.
fn encoded(text: &str) -> String {
    text.bytes().fold(String::new(), |mut written, byte| {
        match byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            true => written.push(byte.into()),
            false => written.push_str(&format!("%{byte:02X}")),
        }
        written
    })
}

/// DELETE: clears a chat. Not while a turn is running in it.
pub(super) async fn clear(
    state: AppState,
    caller: Caller,
    parameters: Query,
) -> Result<Json<shapes::Success>, Error> {
    let app_id = query(&parameters, read_thread)?;
    match state.ledger.store().clear_chat(&caller.user, chat::thread(app_id.as_deref())).await? {
        None => Ok(Json(shapes::SUCCESS)),
        Some(seconds) => Err(Error::Later(Code::TurnRunning, seconds.min(5))),
    }
}

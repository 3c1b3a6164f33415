//! The server: routes of a model server, and the ones under `/mock` that control it.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, post};
use axum::{Json, Router};
use parking_lot::{Mutex, MutexGuard};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep};

use crate::answer::{Answers, vector};
use crate::cache::{Cache, tokens};
use crate::fault::{Fault, Faults, Kind};
use crate::ledger::{Call, Counts, counts};
use crate::question::Question;
use crate::talk::{Streaming, Turn};

/// What a server of this API may not know, or not want.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Manners {
    /// Refuses `response_format` of the kind `json_schema`.
    pub no_schema: bool,
    /// Refuses `response_format` altogether.
    pub no_json_mode: bool,
    /// Refuses `max_completion_tokens`.
    pub only_max_tokens: bool,
    /// Refuses `temperature`.
    pub no_temperature: bool,
    /// Refuses `tools`.
    pub no_tools: bool,
    /// Says only that the request is bad, not which field.
    pub taciturn: bool,
}

/// How the server is set up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// What every call takes.
    pub latency: Duration,
    /// The most tokens that a prompt may have; 0 for no limit.
    pub context_tokens: u64,
    /// The only keys that are let in; empty for any.
    pub keys: Vec<String>,
    /// What it does not know.
    pub manners: Manners,
}

struct Shared {
    options: Options,
    began: Instant,
    state: Mutex<Inside>,
    mended: Notify,
}

#[derive(Default)]
struct Inside {
    calls: Vec<Call>,
    faults: Faults,
    cache: Cache,
    turns: VecDeque<Turn>,
}

/// A running server. Dropping it ends it.
pub struct Mock {
    addr: SocketAddr,
    shared: Arc<Shared>,
    serving: AbortHandle,
}

impl Drop for Mock {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Mock {
    /// Starts one on a free port of this machine.
    ///
    /// # Errors
    /// When no port can be had.
    pub async fn start(options: Options) -> std::io::Result<Self> {
        Self::listen(TcpListener::bind(("127.0.0.1", 0)).await?, options)
    }

    /// Starts one on `listener`.
    ///
    /// # Errors
    /// When the listener has no address.
    pub fn listen(listener: TcpListener, options: Options) -> std::io::Result<Self> {
        let addr = listener.local_addr()?;
        let shared = Arc::new(Shared {
            options,
            began: Instant::now(),
            state: Mutex::default(),
            mended: Notify::new(),
        });
        let router = router(Arc::clone(&shared));
        let serving = tokio::spawn(async move { axum::serve(listener, router).await }).abort_handle();
        Ok(Self { addr, shared, serving })
    }

    /// Where it listens.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// The base URL for clients, version path included.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.addr)
    }

    /// Lets something go wrong from now on.
    pub fn fault(&self, fault: Fault) {
        self.shared.inside().faults.add([fault]);
    }

    /// Nothing goes wrong any more, and what was held is answered.
    pub fn mend(&self) {
        self.shared.inside().faults.clear();
        self.shared.mended.notify_waiters();
    }

    /// What it does in the next rounds of talks with tools; afterwards it says "Very well.".
    pub fn turns(&self, turns: impl IntoIterator<Item = Turn>) {
        self.shared.inside().turns.extend(turns);
    }

    /// All calls so far, in the order in which they came.
    pub fn calls(&self) -> Vec<Call> {
        self.shared.inside().calls.clone()
    }

    /// The sums so far, by stage.
    pub fn counts(&self) -> BTreeMap<String, Counts> {
        counts(&self.shared.inside().calls)
    }

    /// Forgets the calls, and what the prefix cache holds.
    pub fn forget(&self) {
        let mut inside = self.shared.inside();
        inside.calls.clear();
        inside.cache = Cache::default();
    }
}

impl Shared {
    fn inside(&self) -> MutexGuard<'_, Inside> {
        self.state.lock()
    }

    fn now_ms(&self) -> u128 {
        self.began.elapsed().as_millis()
    }
}

type World = State<Arc<Shared>>;

fn router(shared: Arc<Shared>) -> Router {
    Router::new()
        .route("/v1/chat/completions", post(chat))
        .route("/v1/embeddings", post(embeddings))
        .route("/mock/calls", get(calls_route))
        .route("/mock/counts", get(counts_route))
        .route("/mock/faults", post(add_faults).delete(clear_faults))
        .route("/mock/turns", post(add_turns))
        .route("/mock", delete(forget))
        .with_state(shared)
}

async fn calls_route(State(shared): World) -> Json<Vec<Call>> {
    Json(shared.inside().calls.clone())
}

async fn counts_route(State(shared): World) -> Json<BTreeMap<String, Counts>> {
    Json(counts(&shared.inside().calls))
}

async fn add_faults(State(shared): World, Json(faults): Json<Vec<Fault>>) -> StatusCode {
    shared.inside().faults.add(faults);
    StatusCode::NO_CONTENT
}

async fn clear_faults(State(shared): World) -> StatusCode {
    shared.inside().faults.clear();
    StatusCode::NO_CONTENT
}

async fn add_turns(State(shared): World, Json(turns): Json<Vec<Turn>>) -> StatusCode {
    shared.inside().turns.extend(turns);
    StatusCode::NO_CONTENT
}

async fn forget(State(shared): World) -> StatusCode {
    let mut inside = shared.inside();
    *inside = Inside::default();
    StatusCode::NO_CONTENT
}

async fn chat(State(shared): World, headers: HeaderMap, Json(body): Json<Value>) -> Response {
    let question = Question::of_chat(&body);
    let refusal = refused_field(&shared.options, &body, &question);
    play(shared, headers, body, question, refusal).await
}

async fn embeddings(State(shared): World, headers: HeaderMap, Json(body): Json<Value>) -> Response {
    let question = Question::of_embeddings(&body);
    play(shared, headers, body, question, None).await
}

/// Writes the call down, lets go wrong what is to go wrong, and answers.
async fn play(
    shared: Arc<Shared>,
    headers: HeaderMap,
    body: Value,
    question: Question,
    refusal: Option<&'static str>,
) -> Response {
    let key = headers
        .get(header::AUTHORIZATION)
        .and_then(|value| value.to_str().ok())
        .map(|value| value.trim_start_matches("Bearer ").to_owned());
    let is_known =
        shared.options.keys.is_empty() || key.as_ref().is_some_and(|key| shared.options.keys.contains(key));
    let words = format!("{PROVIDER_TEXT}: the key {} is not known", key.as_deref().unwrap_or_default());
    let (number, kind) = note(&shared, body, key, &question);
    if !is_known {
        return end(&shared, number, "refused", error_in(&words, StatusCode::UNAUTHORIZED, None));
    }
    if let Some(field) = refusal {
        let named = (!shared.options.manners.taciturn).then_some(field);
        return end(&shared, number, "refused", error(StatusCode::BAD_REQUEST, named));
    }
    sleep(shared.options.latency).await;
    let Some(kind) = kind else { return good(&shared, number, &question, false) };
    misbehave(&shared, number, &question, kind).await
}

fn note(shared: &Shared, body: Value, key: Option<String>, question: &Question) -> (usize, Option<Kind>) {
    let began_ms = shared.now_ms();
    let mut inside = shared.inside();
    let cached_tokens = inside.cache.held(&question.prompt);
    inside.calls.push(Call {
        stages: question.stages.clone(),
        outcome: "unanswered".to_owned(),
        format: question.format.to_owned(),
        model: question.model.clone(),
        began_ms,
        ended_ms: began_ms,
        prompt_tokens: question.tokens(),
        cached_tokens,
        completion_tokens: 0,
        body,
        key,
    });
    (inside.calls.len() - 1, inside.faults.take(&question.stages))
}

fn end(shared: &Shared, number: usize, outcome: &str, response: Response) -> Response {
    let ended_ms = shared.now_ms();
    if let Some(call) = shared.inside().calls.get_mut(number) {
        (call.outcome, call.ended_ms) = (outcome.to_owned(), ended_ms);
    }
    response
}

async fn misbehave(shared: &Shared, number: usize, question: &Question, kind: Kind) -> Response {
    let answer = Answers { lines: &question.lines, obeys: false }.fill(question.schema.as_ref()).to_string();
    let cut = &answer[..answer.floor_char_boundary(answer.len() / 2)];
    let status = |code| StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let chosen = |message, reason| Json(completion(message, reason, question.tokens(), 0, 1)).into_response();
    match kind {
        Kind::Slow { millis } => {
            sleep(Duration::from_millis(millis)).await;
            good(shared, number, question, false)
        }
        Kind::Held => {
            shared.mended.notified().await;
            good(shared, number, question, false)
        }
        Kind::Obey => good(shared, number, question, true),
        Kind::RateLimited { retry_after } => {
            let mut response = error(StatusCode::TOO_MANY_REQUESTS, None);
            if let Some(seconds) = retry_after {
                response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
            }
            end(shared, number, "rate_limited", response)
        }
        Kind::Status { status: code } => end(shared, number, "refused", error(status(code), None)),
        Kind::Truncated => end(shared, number, "truncated", chosen(json!({"content": cut}), "length")),
        Kind::CutSilently => end(shared, number, "truncated", chosen(json!({"content": cut}), "stop")),
        Kind::WrongSchema => {
            let other = json!({"answer": [{"to": "another question"}]}).to_string();
            end(shared, number, "wrong_schema", chosen(json!({"content": other}), "stop"))
        }
        Kind::Partial => {
            let mut value: Value = serde_json::from_str(&answer).unwrap_or_default();
            if let Some((_, last)) = value.as_object_mut().and_then(|fields| fields.iter_mut().last()) {
                *last = json!("none of your business");
            }
            end(shared, number, "partial", chosen(json!({"content": value.to_string()}), "stop"))
        }
        Kind::Refusal => {
            let message = json!({"content": null, "refusal": "I cannot help with that."});
            end(shared, number, "refusal", chosen(message, "stop"))
        }
        Kind::Filtered => end(shared, number, "filtered", chosen(json!({"content": ""}), "content_filter")),
        Kind::Hang => std::future::pending().await,
        Kind::Drop => end(shared, number, "dropped", broken_off(cut)),
        Kind::Page => end(shared, number, "page", "<html>busy</html>".into_response()),
    }
}

fn good(shared: &Shared, number: usize, question: &Question, obeys: bool) -> Response {
    let (cached, prompt) = {
        let mut inside = shared.inside();
        inside.cache.warm(question.prompt.clone());
        (inside.calls.get(number).map_or(0, |call| call.cached_tokens), question.tokens())
    };
    if question.format == "embeddings" {
        let vectors = question.lines.iter().enumerate();
        let data: Vec<Value> =
            vectors.map(|(index, text)| json!({"index": index, "embedding": vector(text)})).collect();
        let usage = json!({"prompt_tokens": prompt, "total_tokens": prompt});
        let answer = Json(json!({"object": "list", "data": data, "model": question.model, "usage": usage}));
        return end(shared, number, "answered", answer.into_response());
    }
    if question.talks {
        return end(shared, number, "answered", next_turn(shared, question, prompt, cached));
    }
    let content = Answers { lines: &question.lines, obeys }.fill(question.schema.as_ref()).to_string();
    let written = tokens(&content);
    if let Some(call) = shared.inside().calls.get_mut(number) {
        call.completion_tokens = written;
    }
    let answer = completion(json!({"content": content}), "stop", prompt, cached, written);
    end(shared, number, "answered", Json(answer).into_response())
}

/// The next turn; what could not be read as a stream is given once more without.
fn next_turn(shared: &Shared, question: &Question, prompt: u64, cached: u64) -> Response {
    let turn = {
        let mut inside = shared.inside();
        let again =
            question.streams && inside.turns.front().is_some_and(|turn| turn.streaming == Streaming::Garbage);
        let next = if again { inside.turns.front().cloned() } else { inside.turns.pop_front() };
        next.unwrap_or_else(|| Turn::says("Very well."))
    };
    let usage = json!({"prompt_tokens": prompt, "completion_tokens": tokens(&turn.text),
        "prompt_tokens_details": {"cached_tokens": cached}});
    turn.answer(question.streams, &usage)
}

fn completion(mut message: Value, reason: &str, prompt: u64, cached: u64, written: u64) -> Value {
    message["role"] = json!("assistant");
    json!({
        "object": "chat.completion",
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        "usage": {
            "prompt_tokens": prompt, "completion_tokens": written, "total_tokens": prompt + written,
            "prompt_tokens_details": {"cached_tokens": cached},
        },
    })
}

/// What must never be seen outside of the engine. Of a key that they refuse, providers repeat it.
const PROVIDER_TEXT: &str = "provider text";

/// An error as providers have it.
fn error(status: StatusCode, param: Option<&str>) -> Response {
    error_in(PROVIDER_TEXT, status, param)
}

fn error_in(words: &str, status: StatusCode, param: Option<&str>) -> Response {
    let code = (param == Some("messages")).then_some("context_length_exceeded");
    let body = json!({"error": {"message": words, "param": param, "code": code}});
    (status, Json(body)).into_response()
}

/// Promises more than it sends.
fn broken_off(part: &str) -> Response {
    let part = Bytes::copy_from_slice(part.as_bytes());
    let broken = Err(std::io::Error::from(std::io::ErrorKind::ConnectionReset));
    Body::from_stream(futures::stream::iter([Ok(part), broken])).into_response()
}

/// Which field of the request this server refuses.
fn refused_field(options: &Options, body: &Value, question: &Question) -> Option<&'static str> {
    let manners = options.manners;
    let refused = HashMap::from([
        ("temperature", manners.no_temperature && body.get("temperature").is_some()),
        ("max_tokens", manners.only_max_tokens && body.get("max_completion_tokens").is_some()),
        ("tools", manners.no_tools && body.get("tools").is_some()),
        ("response_format", manners.no_schema && question.format == "json_schema"),
        ("messages", options.context_tokens > 0 && question.tokens() > options.context_tokens),
    ]);
    let no_mode = manners.no_json_mode && question.format != "plain";
    let mut fields: Vec<&str> =
        refused.into_iter().filter(|(_, refused)| *refused).map(|(name, _)| name).collect();
    fields.sort_unstable();
    fields.first().copied().or(no_mode.then_some("response_format"))
}

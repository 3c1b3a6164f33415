//! A model server that answers well, slowly, not at all, or wrongly, and records its calls.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::journal::{Call, Journal};

/// The key that the service was given.
pub(crate) const KEY: &str = "sk-kit-canary-4711";
/// How the keys of people who bring their own begin; the person's id follows.
pub(crate) const OWN_KEY: &str = "sk-own-canary-";
/// A person's key that the provider has taken back.
pub(crate) const REFUSED_KEY: &str = "sk-old-canary-0815";
/// What a provider says when it refuses; it must be nowhere in the service.
pub(crate) const PROVIDER_WORDS: &str = "quota-canary-of-the-provider";

/// How the server behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mood {
    Good,
    Slow,
    Hanging,
    Lying,
    Failing,
}

impl Mood {
    fn name(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Slow => "slow",
            Self::Hanging => "hanging",
            Self::Lying => "lying",
            Self::Failing => "failing",
        }
    }
}

/// The server; it ends with the runtime.
#[derive(Debug)]
pub(crate) struct Model {
    /// Where it is, up to and including the version path.
    pub(crate) url: String,
    mood: watch::Sender<Mood>,
}

/// Of every so many conversations one is refused at first, whatever the mood: there are dead letters to be replayed.
const STUBBORN: (i64, i64) = (8, 5);

struct Inside {
    /// How long such a one is refused, in seconds from the first question about it.
    refused_for: f64,
    /// When each of them was asked about first.
    first_asked: Mutex<HashMap<i64, f64>>,
    mood: watch::Receiver<Mood>,
    journal: Arc<Journal>,
    lies: AtomicU32,
    calls: AtomicU64,
}

impl Model {
    /// Refuses stubborn conversations for `refused_for` seconds.
    pub(crate) async fn start(journal: Arc<Journal>, refused_for: f64) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("an address is free");
        let url = format!("http://{}/v1", listener.local_addr().expect("a listener has an address"));
        let (mood, heard) = watch::channel(Mood::Good);
        let inside = Inside {
            refused_for,
            first_asked: Mutex::default(),
            mood: heard,
            journal,
            lies: AtomicU32::new(0),
            calls: AtomicU64::new(0),
        };
        let router = Router::new().fallback(answer).with_state(Arc::new(inside));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url, mood }
    }

    pub(crate) fn be(&self, mood: Mood) {
        self.mood.send_replace(mood);
    }
}

impl Inside {
    /// Whether a question about this conversation is refused now.
    fn is_stubborn(&self, number: i64) -> bool {
        let now = self.journal.now();
        let mut first_asked = self.first_asked.lock();
        number % STUBBORN.0 == STUBBORN.1
            && now - *first_asked.entry(number).or_insert(now) < self.refused_for
    }
}

async fn answer(State(inside): State<Arc<Inside>>, headers: HeaderMap, body: Bytes) -> Response {
    let mood = *inside.mood.borrow();
    let asked: Value = serde_json::from_slice(&body).unwrap_or_default();
    let stage = asked["response_format"]["json_schema"]["name"].as_str().unwrap_or("unknown").to_owned();
    let text = String::from_utf8_lossy(&body);
    let number = number_in(&text);
    let key = headers.get("authorization").and_then(|value| value.to_str().ok()).unwrap_or_default();
    inside.journal.calls.note(Call {
        at: inside.journal.now(),
        number: number.unwrap_or(-1),
        stage: stage.clone(),
        mood: mood.name(),
        key_of: key_of(key),
        words: appended_in(&text),
    });
    if key_of(key) == "refused" {
        return (StatusCode::UNAUTHORIZED, json!({"error": {"message": PROVIDER_WORDS}}).to_string())
            .into_response();
    }
    if number.is_some_and(|number| inside.is_stubborn(number)) {
        return (StatusCode::PAYLOAD_TOO_LARGE, json!({"error": {"message": PROVIDER_WORDS}}).to_string())
            .into_response();
    }
    let turn = inside.calls.fetch_add(1, Ordering::Relaxed);
    let truth = || reply(&truth_of(&stage, number.unwrap_or(0)).to_string());
    match mood {
        // Even a good model takes a while, so that every fault meets runs that are under way.
        Mood::Good => {
            tokio::time::sleep(Duration::from_millis(80 + turn * 377 % 500)).await;
            truth()
        }
        Mood::Slow => {
            tokio::time::sleep(Duration::from_millis(500 + turn * 377 % 2_500)).await;
            truth()
        }
        Mood::Hanging => {
            let mut mood = inside.mood.clone();
            let _changed_or_gone = mood.wait_for(|mood| *mood != Mood::Hanging).await;
            StatusCode::SERVICE_UNAVAILABLE.into_response()
        }
        Mood::Lying => lie(inside.lies.fetch_add(1, Ordering::Relaxed), number.unwrap_or(0)),
        Mood::Failing => {
            let status = [500, 503, 429, 401][inside.lies.fetch_add(1, Ordering::Relaxed) as usize % 4];
            let words = json!({"error": {"message": PROVIDER_WORDS}}).to_string();
            (StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY), words).into_response()
        }
    }
}

/// Whose key a header holds: `service`, a person's id, `refused` or `unknown`.
fn key_of(header: &str) -> String {
    let key = header.strip_prefix("Bearer ").unwrap_or_default();
    match (key, key.strip_prefix(OWN_KEY)) {
        (KEY, _) => "service".to_owned(),
        (REFUSED_KEY, _) => "refused".to_owned(),
        (_, Some(person)) => person.to_owned(),
        _ => "unknown".to_owned(),
    }
}

/// Answers that look like answers.
fn lie(turn: u32, number: i64) -> Response {
    match turn % 7 {
        0 => reply("I would rather not say."),
        1 => reply(
            &json!({"title": "", "overview": "", "tasks": "none", "memories": 7, "text": null}).to_string(),
        ),
        2 => (StatusCode::OK, "<html>it works</html>").into_response(),
        3 => reply("{\"title\": \"cut off in the mid"),
        4 => (StatusCode::OK, vec![0xff_u8, 0xfe, 0x00]).into_response(),
        5 => reply(&"{\"tasks\":[".repeat(20_000)),
        _ => {
            let words = format!("{{\"title\": \"Part zq{number:06}\"");
            let choice = json!({"message": {"content": words}, "finish_reason": "length"});
            (StatusCode::OK, json!({"choices": [choice]}).to_string()).into_response()
        }
    }
}

fn reply(text: &str) -> Response {
    let choice = json!({"message": {"role": "assistant", "content": text}, "finish_reason": "stop"});
    let usage = json!({"prompt_tokens": 100, "completion_tokens": 20});
    (StatusCode::OK, json!({"choices": [choice], "usage": usage}).to_string()).into_response()
}

/// Two tasks and one fact for every conversation, named by its number, so that each can be counted. What they rest on
/// stands somewhere in the first lines.
fn truth_of(stage: &str, number: i64) -> Value {
    let lines = [1, 2, 3, 4, 5];
    let description = json!({
        "title": format!("Part zq{number:06}"), "overview": format!("About part zq{number:06}."),
        "category": "work", "emoji": "🔧", "folder": null, "events": [],
    });
    let task = |words: String| json!({"lines": lines, "description": words, "owner": null, "due_words": null, "due_local": null});
    let tasks =
        json!([task(format!("Order part zq{number:06}a")), task(format!("Paint gate zq{number:06}b"))]);
    let memories =
        json!([{"lines": lines, "content": format!("Loves tool zq{number:06}m"), "category": "hobbies"}]);
    match stage {
        "describe-extract_action_items-extract_memories" => {
            json!({"description": description, "tasks": tasks, "memories": memories})
        }
        "describe" => description,
        "extract_action_items" => json!({"tasks": tasks}),
        "extract_memories" => json!({"memories": memories}),
        _ => json!({"text": format!("Minutes of zq{number:06}."), "keep": true}),
    }
}

/// The number of the conversation whose words these are.
fn number_in(text: &str) -> Option<i64> {
    let at = text.find("zq")?;
    text.get(at + 2..at + 8)?.parse().ok()
}

/// The appended words among these, with blanks between them.
fn appended_in(text: &str) -> String {
    let word =
        |(at, _): (usize, &str)| text.get(at..at + 13).filter(|word| word.as_bytes().get(8) == Some(&b'x'));
    text.match_indices("zq").filter_map(word).collect::<Vec<_>>().join(" ")
}

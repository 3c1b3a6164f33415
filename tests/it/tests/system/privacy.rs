//! Privacy: after a full run, what users said, provider texts, keys and headers are in the tables meant for them only, and in
//! no log, metric, span or operator command.

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use reqwest::{Method, header};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::net::TcpListener;

use crate::binary;
use crate::client::{http, page};
use crate::collector::{Collector, Span};
use crate::process::Process;
use crate::receiver::Receiver;
use crate::world::World;

/// Said by a person.
const SAID: &str = "zwitscherling";
/// Answered by the model, as a good answer and inside of an error.
const ANSWERED: &str = "brummkreisel";
const PROVIDER_ERROR: &str = "quotenfresser";
/// The service's key, and a key that a client sends by mistake.
const SERVICE_KEY: &str = "sk-schluesselkind";
const WRONG_KEY: &str = "lsk_torwandschuetze";
const HEADER: &str = "kopfzeilenkanarie";

/// Tables whose columns are meant for what people said, or for what was made of it.
const MEANT_FOR_WORDS: [&str; 10] = [
    "conversations",
    "transcript_segments",
    "photos",
    "action_items",
    "memories",
    "stage_checkpoints",
    "webhook_deliveries",
    "folders",
    "search_entries",
    "chat_messages",
];

/// A model server that refuses questions with many words until it is `open`, and then answers.
async fn provider(open: Arc<AtomicBool>) -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("an address is free");
    let url = format!("http://{}/v1", listener.local_addr().expect("a listener has an address"));
    let router = Router::new().fallback(answer).with_state(open);
    tokio::spawn(async move { axum::serve(listener, router).await });
    url
}

async fn answer(State(open): State<Arc<AtomicBool>>, body: Bytes) -> (StatusCode, String) {
    if !open.load(Ordering::SeqCst) {
        let words = format!("{PROVIDER_ERROR}: {SERVICE_KEY} said {}", String::from_utf8_lossy(&body));
        return (StatusCode::UNAUTHORIZED, json!({ "error": { "message": words } }).to_string());
    }
    let (lines, category) = ([1, 2, 3], "hobbies");
    let told = json!({
        "description": {
            "title": format!("About {ANSWERED}"), "overview": ANSWERED, "category": "other", "emoji": "🌷", "events": [],
            "folder": null,
        },
        "tasks": [{ "lines": lines, "description": format!("Order the {ANSWERED} tiles") }],
        "memories": [{ "lines": lines, "content": format!("Loves {ANSWERED}"), "category": category }],
        "text": ANSWERED,
    });
    let choice =
        json!({ "message": { "role": "assistant", "content": told.to_string() }, "finish_reason": "stop" });
    (StatusCode::OK, json!({ "choices": [choice] }).to_string())
}

#[tokio::test]
async fn canary_words_appear_only_where_user_content_belongs() {
    let world = World::new().await;
    let (receiver, collector) = (Receiver::start().await, Collector::start().await);
    let open = Arc::new(AtomicBool::new(false));
    let url = provider(Arc::clone(&open)).await;
    let process = Process::serve(
        &world.url,
        &[
            ("LISTEN_LOG", "trace"),
            ("LISTEN_TEXT_ENGINE", "openai"),
            ("LISTEN_OPENAI_BASE_URL", &url),
            ("LISTEN_OPENAI_API_KEY", SERVICE_KEY),
            ("LISTEN_OPENAI_MODEL", "canary"),
            ("LISTEN_FINALIZATION_MAX_ATTEMPTS", "1"),
            ("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url),
        ],
    )
    .await;
    let client = world.client(&process);
    client.register_webhook(&receiver.url()).await;
    send_unauthorized_requests(&process.api).await;
    search_over_mcp(&process.api, world.key()).await;
    let promise = format!("I will order the {SAID} tiles from the builder by Friday.");

    let id = client.admit(&["Let's plan the garden.", &promise, &format!("I love {SAID}.")]).await;
    assert_eq!(client.finished(&id).await["status"], "dead_letter");
    let dead = binary::the_job(&world.url);
    let job = dead["job_id"].as_str().expect("a job has an id");
    let mut shown = binary::printed(&world.url, &["jobs", "show", job]);
    open.store(true, Ordering::SeqCst);
    binary::printed(&world.url, &["jobs", "replay", job, "--reason", "the key is right now"]);
    let poll = client.finished(&id).await;
    assert_eq!(poll["status"], "completed", "{poll}");
    receiver.posts(1).await;

    let items = client.items(&id).await;
    assert!(
        items.iter().any(|item| item.contains(ANSWERED)),
        "the answer went through the system: {items:?}"
    );
    shown += &binary::printed(&world.url, &["jobs", "show", job, "--json"]);
    shown += &binary::printed(&world.url, &["jobs", "list"]);
    let (_, metrics) = page(&format!("{}/metrics", process.admin)).await;
    collector.spans(|spans| spans.iter().any(|span| span.name == "deliver")).await;
    let refused =
        |span: &Span| span.attributes.get("outcome").is_some_and(|outcome| outcome == "model_rejected");
    collector.spans(|spans| spans.iter().any(refused)).await;
    assert_no_canary("what the collector was sent", &collector.text(), world.key());
    assert_no_canary("the logs", &process.logs(), world.key());
    assert_no_canary("the metrics", &metrics, world.key());
    assert_no_canary("what operators are shown", &shown, world.key());
    let tables = world
        .texts("select table_name::text from information_schema.tables where table_schema = 'public'")
        .await;
    let others: Vec<_> = tables.iter().filter(|table| !MEANT_FOR_WORDS.contains(&table.as_str())).collect();
    assert!(others.len() >= 8, "the tables were found: {others:?}");
    for table in others {
        assert_no_canary(table, &world.dump(&format!("select t::text from {table} t")).await, world.key());
    }
    // Of checkpoints and deliveries, one column alone may hold words.
    let columns = "select concat_ws(' ', user_id, job_id, stage, version, encode(digest, 'hex'), epoch) from stage_checkpoints";
    assert_no_canary("the keys of checkpoints", &world.dump(columns).await, world.key());
    let columns = "select (to_jsonb(d) - 'body')::text from webhook_deliveries d";
    assert_no_canary("deliveries without their bodies", &world.dump(columns).await, world.key());
    let kept =
        world.dump("select encode(body, 'escape') from webhook_deliveries where status = 'delivered'").await;
    assert_eq!(kept.trim(), "", "a delivered body is erased");
}

#[tokio::test]
async fn logs_of_the_embedded_engine_contain_no_user_content() {
    let world = World::new().await;
    let receiver = Receiver::start().await;
    let roles = |roles| [("LISTEN_ROLES", roles), ("LISTEN_LOG", "debug")];
    let api = Process::serve(&world.url, &roles("api")).await;
    let mut worker = Process::serve(&world.url, &roles("worker,reconciler")).await;
    let client = world.client(&api);
    client.register_webhook(&receiver.url()).await;
    let promise = format!("I will order the {SAID} tiles from the builder by Friday.");
    let love = format!("I love {SAID}, it is my favourite flower.");

    let id = client.admit(&["Let's plan the garden.", "What is missing?", &promise, "Good.", &love]).await;

    client.finished(&id).await;
    worker.line("tried a delivery", |_| true).await;
    worker.line("stage started", |line| line["level"] == "DEBUG").await;
    let items = client.items(&id).await;
    assert!(items.iter().any(|item| item.contains(SAID)), "the canary went through the system: {items:?}");
    for process in [&api, &worker] {
        let (_, metrics) = page(&format!("{}/metrics", process.admin)).await;
        for text in [process.logs(), metrics] {
            assert!(!text.is_empty());
            assert!(!text.to_lowercase().contains(SAID), "{text}");
            assert!(!text.contains(world.key()), "a key was told");
        }
    }
}

/// Requests that are refused, with canaries wherever a request has room for them.
async fn send_unauthorized_requests(api: &str) {
    let http = http();
    let body = json!({ "text": 7, SAID: SAID, "started_at": SAID });
    for key in [WRONG_KEY, SERVICE_KEY] {
        for path in ["/v1/dev/user/conversations", "/v1/conversations/none/finalize"] {
            let url = format!("{api}{path}?{HEADER}={HEADER}");
            let request = http.request(Method::POST, url).bearer_auth(key).header("x-canary", HEADER);
            let request =
                request.header(header::USER_AGENT, HEADER).header("x-byok-openai", SERVICE_KEY).json(&body);
            let answered = request.send().await.expect("it answers");
            assert_eq!(answered.status(), 401);
            let words: Value = answered.json().await.expect("it answers in JSON");
            assert!(!words.to_string().contains(HEADER) && !words.to_string().contains(key), "{words}");
        }
    }
}

/// A search by MCP, whose SDK has logs of its own.
async fn search_over_mcp(api: &str, key: &str) {
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": "search", "arguments": { "query": SAID } } });
    let answered =
        http().post(format!("{api}/mcp")).bearer_auth(key).json(&call).send().await.expect("it answers");
    let words: Value = answered.json().await.expect("it answers in JSON");
    assert!(words["result"]["structuredContent"]["results"].is_array(), "{words}");
}

fn assert_no_canary(position: &str, text: &str, key: &str) {
    let lower = text.to_lowercase();
    for canary in [SAID, ANSWERED, PROVIDER_ERROR, SERVICE_KEY, WRONG_KEY, HEADER, key, "whsec_"] {
        // An endpoint's secret and a key's hash live in tables of their own.
        if canary == "whsec_" && position == "webhook_endpoints" {
            continue;
        }
        if let Some(at) = lower.find(&canary.to_lowercase()) {
            let from = lower.floor_char_boundary(at.saturating_sub(200));
            let to = lower.ceil_char_boundary((at + 200).min(lower.len()));
            panic!("{canary} is in {position}: …{}…", &lower[from..to]);
        }
    }
}

//! `LISTEN_MEMORY_BUDGET` bounds what clients can make the service hold: unread responses and unfinished bodies.

use std::io;

use api::{Metrics, Scope, Settings};
use axum::{
    body::{Body, to_bytes},
    http::{Method, Request, StatusCode},
    response::Response,
};
use futures::{StreamExt, stream, stream::FuturesUnordered};
use prometheus::Registry;
use serde_json::{Value, json};
use tokio::sync::watch;
use tower::ServiceExt;

use crate::bench::{Bench, P, quick};

/// A user may hold a quarter of it: 256 KiB.
const BUDGET: usize = 1 << 20;

/// A service with a small budget, and the gauge of what is held.
async fn bench() -> (Bench, Registry) {
    let (mut bench, registry) = (Bench::new().await, Registry::new());
    let settings = Settings { memory_budget: BUDGET, ..quick() };
    let metrics = Metrics::register(&registry).unwrap();
    bench.app = api::router(bench.ledger.clone(), std::sync::Arc::new(|_| true), settings, metrics);
    (bench, registry)
}

fn held(registry: &Registry) -> f64 {
    let families = registry.gather();
    let gauge = families.iter().find(|family| family.name() == "listen_http_held_bytes").unwrap();
    gauge.get_metric()[0].get_gauge().get_value()
}

/// Gives the user completed conversations, each of one segment of so many bytes.
async fn add_conversations(bench: &Bench, user: &str, conversations: usize, bytes: usize) {
    bench
        .run(&format!(
            "insert into conversations (user_id, conversation_id, source, language, status, created_at, updated_at, \
                 started_at, finished_at) \
                 select '{user}', '{user}-' || n, 'phone', 'en', 'completed', now(), now(), now(), now() \
                 from generate_series(1, {conversations}) n"
        ))
        .await;
    bench
        .run(&format!(
            "insert into transcript_segments (user_id, conversation_id, position, content, start_seconds, end_seconds) \
                 select '{user}', '{user}-' || n, 0, repeat('x', {bytes}), 0, 1 \
                 from generate_series(1, {conversations}) n"
        ))
        .await;
}

/// An answer whose body is not read.
async fn unread(bench: &Bench, key: &str, method: &str, path: &str) -> Response {
    let request =
        Request::builder().method(method).uri(path).header("authorization", format!("Bearer {key}"));
    bench.app.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap()
}

async fn read(response: Response) -> Value {
    serde_json::from_slice(&to_bytes(response.into_body(), usize::MAX).await.unwrap()).unwrap()
}

async fn is_overloaded(response: Response) -> bool {
    let is_503 = response.status() == StatusCode::SERVICE_UNAVAILABLE;
    let retry_after = response.headers().get("retry-after").is_some_and(|seconds| seconds == "2");
    is_503 && retry_after && read(response).await["detail"] == "Too much data is in flight: try again later"
}

#[tokio::test]
async fn memory_budget_bounds_unread_answers_per_user() {
    let (bench, registry) = bench().await;
    let bob = bench.person("bob", Scope::ALL).await;
    for user in ["ann", "bob"] {
        add_conversations(&bench, user, 1, 40 * 1_024).await;
    }
    for (method, path) in [
        ("GET", format!("{P}/conversations?include_transcript=true")),
        ("GET", format!("{P}/conversations/ann-1?include_transcript=true")),
        ("POST", "/v1/conversations/ann-1/finalize".to_owned()),
    ] {
        let mut answers = Vec::new();
        let refused = loop {
            let answer = unread(&bench, &bench.key, method, &path).await;
            if answer.status() != 200 {
                break answer;
            }
            answers.push(answer);
            assert!(answers.len() < 10, "{path}");
        };
        assert!(is_overloaded(refused).await, "{path}");
        assert!(answers.len() >= 4, "{path}: {}", answers.len());
        assert!(held(&registry) > 160e3 && held(&registry) < 263e3, "{path}: {}", held(&registry));
        // Small responses do not count, and bob has a share of his own.
        assert_eq!(bench.get(&format!("{P}/folders")).await.status, 200);
        let bobs =
            unread(&bench, &bob, "GET", &format!("{P}/conversations/bob-1?include_transcript=true")).await;
        assert_eq!(bobs.status(), 200);
        assert_eq!(
            read(bobs).await["transcript_segments"][0]["text"].as_str().map(str::len),
            Some(40 * 1_024)
        );
        // One that is read and one that is given up make room.
        read(answers.pop().unwrap()).await;
        drop(answers.pop());
        assert_eq!(unread(&bench, &bench.key, method, &path).await.status(), 200, "{path}");
        drop(answers);
        assert_eq!(held(&registry), 0.0, "{path}");
    }
}

#[tokio::test]
async fn memory_budget_refuses_pictures_before_loading_them() {
    let (bench, registry) = bench().await;
    add_conversations(&bench, "ann", 1, 40 * 1_024).await;
    bench
        .run(
            "insert into photos (user_id, conversation_id, photo_id, base64) \
                 select 'ann', 'ann-1', 'p' || n, repeat('x', 30 * 1024) from generate_series(1, 4) n",
        )
        .await;
    let path = format!("{P}/conversations/ann-1");
    let shown = bench.get(&format!("{path}?include_photos=true")).await;
    assert_eq!(shown.body["photos"].as_array().map(Vec::len), Some(4));
    let mut unsent = Vec::new();
    for _ in 0..4 {
        unsent.push(unread(&bench, &bench.key, "GET", &format!("{path}?include_transcript=true")).await);
    }
    assert!(held(&registry) > 160e3 && held(&registry) < 200e3, "{}", held(&registry));
    // To load them would fail from here on.
    bench.run("alter table photos rename column description to gone").await;
    let refused = unread(&bench, &bench.key, "GET", &format!("{path}?include_photos=true")).await;
    assert!(is_overloaded(refused).await);
    drop(unsent);
    let failed = unread(&bench, &bench.key, "GET", &format!("{path}?include_photos=true")).await;
    assert!(failed.status().is_server_error() && !is_overloaded(failed).await, "with room they are loaded");
    assert_eq!(held(&registry), 0.0);
}

#[tokio::test]
async fn memory_budget_refuses_a_transcript_before_loading_it() {
    let (bench, registry) = bench().await;
    add_conversations(&bench, "ann", 2, 40 * 1_024).await;
    bench
        .run(
            "update transcript_segments set content = repeat('x', 120 * 1024) where conversation_id = 'ann-2'; \
             update conversations set counted_bytes = 120 * 1024 where conversation_id = 'ann-2'",
        )
        .await;
    let (short, long) = (
        format!("{P}/conversations/ann-1?include_transcript=true"),
        format!("{P}/conversations/ann-2?include_transcript=true"),
    );
    assert_eq!(bench.get(&long).await.status, 200);
    let mut unsent = Vec::new();
    for _ in 0..4 {
        unsent.push(unread(&bench, &bench.key, "GET", &short).await);
    }
    // To load it would fail from here on.
    bench.run("alter table transcript_segments rename column is_user to gone").await;
    let again = "/v1/conversations/ann-2/finalize".to_owned();
    for (method, path) in [("GET", &long), ("POST", &again)] {
        assert!(is_overloaded(unread(&bench, &bench.key, method, path).await).await, "{path}");
    }
    drop(unsent);
    for (method, path) in [("GET", &long), ("POST", &again)] {
        let failed = unread(&bench, &bench.key, method, path).await;
        assert!(failed.status().is_server_error() && !is_overloaded(failed).await, "with room it is loaded");
    }
    assert_eq!(held(&registry), 0.0);
}

#[tokio::test]
async fn memory_budget_refuses_a_tool_a_transcript_before_loading_it() {
    let (bench, registry) = bench().await;
    add_conversations(&bench, "ann", 1, 200 * 1_024).await;
    let params = json!({ "name": "fetch", "arguments": { "id": "ann-1" } });
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string();
    let fetch = async || {
        let request = Request::post("/mcp")
            .header("host", "listen.example")
            .header("authorization", format!("Bearer {}", bench.key))
            .header("content-type", "application/json");
        let answer = bench.send_undocumented(request.body(Body::from(call.clone())).unwrap()).await;
        answer.body["result"].clone()
    };
    let path = format!("{P}/conversations/ann-1?include_transcript=true");
    let unsent = unread(&bench, &bench.key, "GET", &path).await;
    assert_eq!(unsent.status(), 200);
    let refused = fetch().await;
    assert_eq!(refused["isError"], true, "{refused}");
    assert!(refused["content"][0]["text"].to_string().contains("in flight"), "{refused}");
    drop(unsent);
    let fetched = fetch().await;
    assert!(fetched["structuredContent"]["text"].as_str().unwrap().len() > 90_000, "with room it is loaded");
    assert_eq!(held(&registry), 0.0);
}

#[tokio::test]
async fn memory_budget_bounds_all_users_together() {
    let (bench, registry) = bench().await;
    let mut answers = Vec::new();
    for user in ["u1", "u2", "u3", "u4", "u5"] {
        let key = bench.person(user, Scope::ALL).await;
        add_conversations(&bench, user, 1, 220 * 1_024).await;
        answers.push(
            unread(&bench, &key, "GET", &format!("{P}/conversations/{user}-1?include_transcript=true")).await,
        );
    }
    let last = answers.pop().unwrap();
    assert!(answers.iter().all(|answer| answer.status() == 200));
    assert!(is_overloaded(last).await);
    assert!(held(&registry) <= BUDGET as f64);
}

#[tokio::test]
async fn memory_budget_refuses_a_page_over_the_users_share_with_422() {
    let (bench, _) = bench().await;
    add_conversations(&bench, "ann", 5, 60 * 1_024).await;
    let page = bench.get(&format!("{P}/conversations?include_transcript=true")).await;
    assert_eq!(page.status, 422);
    assert_eq!(page.kinds()[0].1, &json!(["query", "limit"]));
    let page = bench.get(&format!("{P}/conversations?include_transcript=true&limit=1")).await;
    assert_eq!((page.status.as_u16(), page.body.as_array().map(Vec::len)), (200, Some(1)));
    assert_eq!(bench.get(&format!("{P}/conversations")).await.body.as_array().map(Vec::len), Some(5));
}

/// A thousand memories with all their tags were loaded and written first, 40 MB and more for each request.
#[tokio::test]
async fn memory_budget_refuses_a_page_of_memories_while_loading_it() {
    let (bench, registry) = bench().await;
    bench
        .run(
            "insert into memories (user_id, memory_id, content, category, visibility, tags, created_at, updated_at) \
                 select 'ann', 'm' || n, 'x', 'other', 'private', array_fill(repeat('x', 100), array[40]), now(), now() \
                 from generate_series(1, 100) n",
        )
        .await;
    let page = bench.get(&format!("{P}/memories?limit=100")).await;
    assert_eq!((page.status.as_u16(), page.kinds()[0].1), (422, &json!(["query", "limit"])), "and not 503");
    let page = bench.get(&format!("{P}/memories?limit=10")).await;
    assert_eq!((page.status.as_u16(), page.body.as_array().map(Vec::len)), (200, Some(10)));
    assert_eq!(held(&registry), 0.0);
}

/// What a user's apps wrote into a page of conversations, and the manifests of a page of apps, were loaded first.
#[tokio::test]
async fn memory_budget_refuses_long_pages_of_conversations_and_apps_while_loading_them() {
    let (bench, registry) = bench().await;
    add_conversations(&bench, "ann", 10, 1).await;
    bench
        .run(
            "update conversations set apps_results = jsonb_build_array( \
                 jsonb_build_object('app_id', 'minutes', 'content', repeat('x', 40 * 1024))); \
             insert into apps (user_id, app_id, name, description, visibility, summary_prompt, secret, created_at, updated_at) \
                 select 'ann', gen_random_uuid()::text, 'App', '', 'private', repeat('x', 40 * 1024), 's', now(), now() \
                 from generate_series(1, 10) n",
        )
        .await;
    for list in [format!("{P}/conversations"), "/v1/apps".to_owned()] {
        let page = bench.get(&format!("{list}?limit=10")).await;
        assert_eq!((page.status.as_u16(), page.kinds()[0].1), (422, &json!(["query", "limit"])), "{list}");
        let page = bench.get(&format!("{list}?limit=1")).await;
        assert_eq!((page.status.as_u16(), page.body.as_array().map(Vec::len)), (200, Some(1)), "{list}");
    }
    assert_eq!(held(&registry), 0.0);
}

#[tokio::test]
async fn memory_budget_counts_answers_without_transcripts() {
    let (bench, registry) = bench().await;
    bench
        .run(
            "insert into memories (user_id, memory_id, content, category, visibility, created_at, updated_at) \
                 select 'ann', 'm' || n, repeat('x', 300), 'other', 'private', now(), now() \
                 from generate_series(1, 100) n",
        )
        .await;
    let path = format!("{P}/memories?limit=100");
    let one = unread(&bench, &bench.key, "GET", &path).await;
    assert_eq!(one.status(), 200);
    let length: usize = one.headers()["content-length"].to_str().unwrap().parse().unwrap();
    assert!(held(&registry) >= length as f64 && length > 30_000, "{length}");
    let two = unread(&bench, &bench.key, "GET", &path).await;
    let three = unread(&bench, &bench.key, "GET", &path).await;
    assert_eq!(two.status(), 200);
    assert!(is_overloaded(three).await);
    assert_eq!(to_bytes(one.into_body(), usize::MAX).await.unwrap().len(), length);
    drop(two);
    assert_eq!(held(&registry), 0.0);
}

/// A create whose body stops after `sent` bytes, until its client hangs up.
fn unfinished(key: &str, sent: usize, named: bool, client: &watch::Sender<()>) -> Request<Body> {
    let first = stream::iter([Ok("x".repeat(sent))]);
    let mut client = client.subscribe();
    let rest = stream::once(async move {
        while client.changed().await.is_ok() {}
        Err(io::Error::from(io::ErrorKind::ConnectionReset))
    });
    let mut request = Request::post(format!("{P}/memories"))
        .header("authorization", format!("Bearer {key}"))
        .header("content-type", "application/json")
        .header("content-length", 4 * 1_024 * 1_024);
    if named {
        request = request.header("idempotency-key", format!("n{sent}"));
    }
    request.body(Body::from_stream(first.chain(rest))).unwrap()
}

#[tokio::test]
async fn memory_budget_bounds_unfinished_bodies_per_user() {
    let (bench, registry) = bench().await;
    let bob = bench.person("bob", Scope::ALL).await;
    for named in [false, true] {
        let client = watch::Sender::new(());
        let unfinished = || unfinished(&bench.key, 128 * 1_024, named, &client);
        let mut waiting: FuturesUnordered<_> =
            (0..5).map(|_| bench.app.clone().oneshot(unfinished())).collect();
        for _ in 0..3 {
            let refused = waiting.next().await.unwrap().unwrap();
            assert!(is_overloaded(refused).await);
        }
        assert_eq!(held(&registry), 256.0 * 1_024.0, "two are still on their way");
        let long = json!({ "content": "x".repeat(400), "padding": "x".repeat(90 * 1_024) });
        let memories = format!("{P}/memories");
        let answer = bench.ask(&bench.key, Method::POST, &memories, Some(long.clone())).await;
        assert_eq!(answer.status, 503);
        assert_eq!(bench.ask(&bob, Method::POST, &memories, Some(long.clone())).await.status, 200);
        assert_eq!(bench.post(&memories, json!({ "content": "short" })).await.status, 200);
        drop(client);
        while let Some(answer) = waiting.next().await {
            assert_eq!(answer.unwrap().status(), 400);
        }
        assert_eq!(bench.post(&memories, long).await.status, 200);
        assert_eq!(held(&registry), 0.0);
    }
}

#[tokio::test]
async fn memory_budget_counts_body_bytes_as_they_arrive() {
    let (bench, registry) = bench().await;
    let client = watch::Sender::new(());
    let mut waiting: FuturesUnordered<_> =
        (0..50).map(|_| bench.app.clone().oneshot(unfinished(&bench.key, 1_000, false, &client))).collect();
    let begun = futures::poll!(waiting.next());
    assert!(begun.is_pending());
    let long = json!({ "content": "x", "padding": "x".repeat(90 * 1_024) });
    let memories = format!("{P}/memories");
    tokio::select! {
        _ = waiting.next() => panic!("a body that is not finished is not answered"),
        answer = bench.post(&memories, long) => assert_eq!(answer.status, 200),
    }
    assert_eq!(held(&registry), 0.0);
}

#[tokio::test]
async fn memory_budget_refuses_a_body_of_too_many_values_with_413() {
    let (bench, registry) = bench().await;
    let post = async |body: String| {
        let request = Request::post(format!("{P}/memories"))
            .header("authorization", format!("Bearer {}", bench.key))
            .header("content-type", "application/json");
        bench.send(request.body(Body::from(body)).unwrap()).await
    };
    let numbers = format!(r#"{{"content": "x", "padding": [{}0]}}"#, "0,".repeat(20_000));
    assert_eq!(post(numbers).await.status, 413);
    // With its own bytes it is more than a user may hold, and without them it is not.
    let both = format!(r#"{{"content": "{}", "padding": [{}0]}}"#, "x".repeat(100_000), "0,".repeat(200));
    assert_eq!(post(both).await.status, 413);
    // Commas in a text are no values.
    let text =
        format!(r#"{{"content": "x", "padding": "{}\" {}"}}"#, ",[{".repeat(10_000), ",[{".repeat(10_000));
    assert_eq!(post(text).await.status, 200);
    // What Python alone would read is held to the same.
    let odd = format!(r#"{{"content": "x", "padding": [{}0, NaN]}}"#, "0,".repeat(20_000));
    assert_eq!(post(odd).await.status, 413);
    // Its characters and its values fit beside its bytes, but not together: it was answered 503, however often it was sent.
    let together = format!(r#"{{"content": "{}", "padding": NaN}}"#, "x".repeat(50_000));
    assert_eq!(post(together).await.status, 413);
    assert_eq!(held(&registry), 0.0);
}

#[tokio::test]
async fn memory_budget_refuses_an_mcp_message_of_too_many_values_with_413() {
    let (bench, registry) = bench().await;
    let call = async |padding: String| {
        let arguments = format!(r#"{{"query": "budget", "kinds": [{padding}]}}"#);
        let params = format!(r#"{{"name": "search", "arguments": {arguments}}}"#);
        let message = format!(r#"{{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {params}}}"#);
        let request = Request::post("/mcp")
            .header("host", "listen.example")
            .header("authorization", format!("Bearer {}", bench.key))
            .header("content-type", "application/json");
        bench.send_undocumented(request.body(Body::from(message)).unwrap()).await.status
    };
    assert_eq!(call(format!("{}{{}}", "{},".repeat(20_000))).await, 413);
    // Both forms of it are more than a user may hold, one is not: it was answered 503, however often it was sent.
    assert_eq!(call(format!("{}{{}}", "{},".repeat(500))).await, 413);
    assert_eq!(call(String::new()).await, 200);
    assert_eq!(held(&registry), 0.0);
}

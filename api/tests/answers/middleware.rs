//! Middleware: authentication, scopes, rate limits, body limits, panics, and the headers of every response.

use std::{sync::Arc, time::Instant};

use api::{Metrics, Scope, Settings};
use axum::{
    body::Body,
    http::{Method, Request},
};
use serde_json::json;

use crate::bench::{Bench, P, quick};

/// Every route with a scope, and the scope.
const ROUTES: [(&str, &str, Scope); 34] = [
    ("GET", "/v1/dev/user/conversations", Scope::ConversationsRead),
    ("POST", "/v1/dev/user/conversations", Scope::ConversationsWrite),
    ("POST", "/v1/dev/user/conversations/from-segments", Scope::ConversationsWrite),
    ("GET", "/v1/dev/user/conversations/x", Scope::ConversationsRead),
    ("PATCH", "/v1/dev/user/conversations/x", Scope::ConversationsWrite),
    ("DELETE", "/v1/dev/user/conversations/x", Scope::ConversationsWrite),
    ("POST", "/v1/dev/user/conversations/x/segments", Scope::ConversationsWrite),
    ("GET", "/v1/dev/user/action-items", Scope::ActionItemsRead),
    ("POST", "/v1/dev/user/action-items", Scope::ActionItemsWrite),
    ("POST", "/v1/dev/user/action-items/batch", Scope::ActionItemsWrite),
    ("PATCH", "/v1/dev/user/action-items/x", Scope::ActionItemsWrite),
    ("DELETE", "/v1/dev/user/action-items/x", Scope::ActionItemsWrite),
    ("GET", "/v1/dev/user/memories", Scope::MemoriesRead),
    ("POST", "/v1/dev/user/memories", Scope::MemoriesWrite),
    ("POST", "/v1/dev/user/memories/batch", Scope::MemoriesWrite),
    ("PATCH", "/v1/dev/user/memories/x", Scope::MemoriesWrite),
    ("DELETE", "/v1/dev/user/memories/x", Scope::MemoriesWrite),
    ("GET", "/v1/dev/user/goals", Scope::GoalsRead),
    ("POST", "/v1/dev/user/goals", Scope::GoalsWrite),
    ("GET", "/v1/dev/user/goals/x", Scope::GoalsRead),
    ("PATCH", "/v1/dev/user/goals/x", Scope::GoalsWrite),
    ("DELETE", "/v1/dev/user/goals/x", Scope::GoalsWrite),
    ("PATCH", "/v1/dev/user/goals/x/progress", Scope::GoalsWrite),
    ("GET", "/v1/dev/user/goals/x/history", Scope::GoalsRead),
    ("GET", "/v1/dev/user/folders", Scope::FoldersRead),
    ("GET", "/v1/dev/user/webhooks", Scope::WebhooksRead),
    ("POST", "/v1/dev/user/webhooks", Scope::WebhooksWrite),
    ("PATCH", "/v1/dev/user/webhooks/x", Scope::WebhooksWrite),
    ("POST", "/v1/dev/user/webhooks/x/test", Scope::WebhooksWrite),
    ("GET", "/v1/dev/user/webhooks/x/deliveries", Scope::WebhooksRead),
    ("POST", "/v1/conversations/x/finalize", Scope::ConversationsWrite),
    ("GET", "/v1/conversations/x/finalization", Scope::ConversationsRead),
    ("GET", "/v1/dev/keys", Scope::KeysRead),
    ("POST", "/v1/dev/keys", Scope::KeysWrite),
];

#[tokio::test]
async fn authentication_and_scope_are_checked_before_the_body() {
    let bench = Bench::new().await;
    for (method, path, scope) in ROUTES {
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let broken = || Body::from("{broken");
        let anonymous = Request::builder().method(&method).uri(path).body(broken()).unwrap();
        let answer = bench.send(anonymous).await;
        assert_eq!(answer.status, 401, "{method} {path}");
        assert_eq!(answer.body, json!({ "detail": "Not authenticated" }));
        assert_eq!(answer.header("www-authenticate"), "Bearer");

        let others: Vec<Scope> = Scope::ALL
            .iter()
            .copied()
            .filter(|held| {
                *held != scope && !(scope == Scope::FoldersRead && *held == Scope::ConversationsRead)
            })
            .collect();
        let key = bench.person("ann", &others).await;
        let poor = Request::builder()
            .method(&method)
            .uri(path)
            .header("authorization", format!("Bearer {key}"))
            .header("content-type", "application/json")
            .body(broken())
            .unwrap();
        let answer = bench.send(poor).await;
        assert_eq!(answer.status, 403, "{method} {path}");
        assert_eq!(answer.body, json!({ "detail": format!("Missing required scope: {scope}") }));
    }
}

#[tokio::test]
async fn malformed_unknown_and_non_bearer_keys_are_401() {
    let bench = Bench::new().await;
    let mut typo = bench.key.clone();
    let last = if typo.pop() == Some('0') { '1' } else { '0' };
    typo.push(last);
    let unknown = {
        use secrecy::ExposeSecret;
        api::keys::generate([7; 32], Default::default()).plaintext.expose_secret().to_owned()
    };
    for sent in [
        format!("Bearer {typo}"),
        format!("Bearer {unknown}"),
        format!("Basic {}", bench.key),
        "Bearer".into(),
    ] {
        let request = Request::builder()
            .uri(format!("{P}/folders"))
            .header("authorization", sent)
            .body(Body::empty())
            .unwrap();
        assert_eq!(bench.send(request).await.status, 401);
    }
}

#[tokio::test]
async fn unknown_paths_are_404_and_wrong_methods_405_as_in_fastapi() {
    let bench = Bench::new().await;
    let unknown = bench.get("/v1/dev/user/nothing").await;
    assert_eq!((unknown.status.as_u16(), &unknown.body), (404, &json!({ "detail": "Not Found" })));
    let wrong = bench.ask(&bench.key, Method::DELETE, &format!("{P}/folders"), None).await;
    assert_eq!((wrong.status.as_u16(), &wrong.body), (405, &json!({ "detail": "Method Not Allowed" })));
    assert!(wrong.header("allow").contains("GET"), "{:?}", wrong.headers);
}

#[tokio::test]
async fn body_over_4_mib_is_413() {
    let bench = Bench::new().await;
    let answer =
        bench.post(&format!("{P}/conversations"), json!({ "text": "x".repeat(4 * 1_024 * 1_024) })).await;
    assert_eq!(answer.status, 413);
    assert_eq!(answer.body, json!({ "detail": "Request body too large" }));
}

#[tokio::test]
async fn body_that_breaks_off_is_400() {
    let bench = Bench::new().await;
    for name in [None, Some("n")] {
        let request = || {
            let request = Request::post(format!("{P}/conversations"))
                .header("authorization", format!("Bearer {}", bench.key))
                .header("content-type", "application/json");
            name.into_iter().fold(request, |request, name| request.header("idempotency-key", name))
        };
        let long = json!({ "text": "x".repeat(3 * 1_024 * 1_024) }).to_string();
        let answer = bench.send(request().body(Body::from(long)).unwrap()).await;
        assert_eq!(answer.status, 422, "{name:?}: it is read, and its text is too long");
        let broken = futures::stream::iter([Err::<Vec<u8>, _>(std::io::Error::other("gone"))]);
        let answer = bench.send(request().body(Body::from_stream(broken)).unwrap()).await;
        assert_eq!(answer.status, 400, "{name:?}: it broke off");
    }
}

#[tokio::test]
async fn content_length_over_the_limit_is_413_after_authentication() {
    let bench = Bench::new().await;
    for (key, name, status) in
        [(bench.key.as_str(), None, 413), (&bench.key, Some("n"), 413), ("none", None, 401)]
    {
        let mut request = Request::builder()
            .method(Method::POST)
            .uri(format!("{P}/memories"))
            .header("authorization", format!("Bearer {key}"))
            .header("content-type", "application/json")
            .header("content-length", 4 * 1_024 * 1_024 + 1);
        if let Some(name) = name {
            request = request.header("idempotency-key", name);
        }
        // A body that never comes.
        let silent = Body::from_stream(futures::stream::pending::<Result<Vec<u8>, std::io::Error>>());
        assert_eq!(bench.send(request.body(silent).unwrap()).await.status, status);
    }
}

#[tokio::test]
async fn responses_have_a_request_id_no_store_and_nosniff() {
    let bench = Bench::new().await;
    let request =
        |id: &str| Request::builder().uri("/nothing").header("x-request-id", id).body(Body::empty());
    let answer = bench.send(request("mine-1").unwrap()).await;
    assert_eq!(answer.header("x-request-id"), "mine-1");
    assert_eq!(answer.header("cache-control"), "no-store");
    assert_eq!(answer.header("x-content-type-options"), "nosniff");
    assert_eq!(answer.header("content-security-policy"), "default-src 'none'; frame-ancestors 'none'");
    let longest = "a".repeat(64);
    let answer = bench.send(request(&longest).unwrap()).await;
    assert_eq!(answer.header("x-request-id"), longest);
    for odd in ["not harmless\u{20}{}", "", &"a".repeat(65)] {
        let answer = bench.send(request(odd).unwrap()).await;
        assert_eq!(
            answer.header("x-request-id").len(),
            36,
            "a fresh id replaces one that is not safe to log"
        );
    }
}

#[tokio::test]
async fn rate_limited_key_is_429_with_rate_limit_headers() {
    let bench = Bench::with(Settings { rate_per_minute: 2, ..quick() }).await;
    for _ in 0..2 {
        assert_eq!(bench.get(&format!("{P}/folders")).await.status, 200);
    }
    let answer = bench.get(&format!("{P}/folders")).await;
    assert_eq!(answer.status, 429);
    assert_eq!(answer.header("ratelimit-policy"), "\"user\";q=2;w=60");
    let seconds = answer.header("retry-after");
    assert_eq!(answer.header("ratelimit"), format!("\"user\";r=0;t={seconds}"));
    assert!((1..=31).contains(&seconds.parse::<u64>().unwrap()));
}

#[tokio::test]
async fn rate_limit_is_shared_by_a_users_keys_not_across_users() {
    let bench = Bench::with(Settings { rate_per_minute: 3, ..quick() }).await;
    let (minted, bob) = (bench.person("ann", Scope::ALL).await, bench.person("bob", Scope::ALL).await);
    let folders = format!("{P}/folders");
    for (key, left) in [(&bench.key, 2), (&minted, 1), (&bench.key, 0)] {
        let answer = bench.ask(key, Method::GET, &folders, None).await;
        assert_eq!(
            (answer.status.as_u16(), answer.header("ratelimit")),
            (200, &*format!("\"user\";r={left};t=20"))
        );
    }
    assert_eq!(bench.ask(&minted, Method::GET, &folders, None).await.status, 429);
    assert_eq!(bench.ask(&bob, Method::GET, &folders, None).await.status, 200);
}

#[tokio::test]
async fn rate_limit_headers_are_on_every_authenticated_answer_only() {
    let bench = Bench::with(Settings { rate_per_minute: 9, ..quick() }).await;
    let poor = bench.person("ann", &[Scope::GoalsRead]).await;
    let begun = Instant::now();
    let me = bench.get("/v1/users/me").await;
    let tag = me.header("etag").to_owned();
    let made = Request::builder()
        .method(Method::POST)
        .uri(format!("{P}/memories"))
        .header("authorization", format!("Bearer {}", bench.key))
        .header("content-type", "application/json")
        .header("idempotency-key", "once");
    let of_the_key = [
        (200, me),
        (304, bench.get_known("/v1/users/me", &tag).await),
        (404, bench.get(&format!("{P}/goals/x")).await),
        (422, bench.get(&format!("{P}/conversations?limit=0")).await),
        (200, bench.send(made.body(Body::from(r#"{"content": "one"}"#)).unwrap()).await),
    ];
    let refused = bench.ask(&poor, Method::GET, "/v1/users/me", None).await;
    // Nothing, unless the machine is busy.
    let came_back = begun.elapsed().as_millis() * 9 / 60_000;
    for (least, (status, answer)) in (3..=8_u128).rev().zip(of_the_key.into_iter().chain([(403, refused)])) {
        assert_eq!(answer.status.as_u16(), status);
        assert_eq!(answer.header("ratelimit-policy"), "\"user\";q=9;w=60");
        let left = answer.header("ratelimit").strip_prefix("\"user\";r=").unwrap();
        let left: u128 = left.strip_suffix(";t=7").unwrap().parse().unwrap();
        // A request is counted once, also when its name is looked up before the handler asks who calls.
        assert!((least..=least + came_back).contains(&left), "{least}: {answer:?}");
    }
    for strange in ["/v1/users/me", "/nothing", "/v1/status"] {
        let answer = bench.ask("lsk_none", Method::GET, strange, None).await;
        assert!(!answer.headers.contains_key("ratelimit"), "{strange}");
    }
}

#[tokio::test]
async fn panicking_handler_is_500_with_the_request_id() {
    let mut bench = Bench::new().await;
    let metrics = Metrics::register(&prometheus::Registry::new()).unwrap();
    bench.app = api::router(bench.ledger.clone(), Arc::new(|_| panic!("a test")), quick(), metrics);
    let request = Request::post(format!("{P}/webhooks"))
        .header("authorization", format!("Bearer {}", bench.key))
        .header("content-type", "application/json");
    let body = json!({ "url": "https://example.org/hook" }).to_string();
    let answer = bench.send_undocumented(request.body(Body::from(body)).unwrap()).await;
    let id = answer.header("x-request-id");
    assert_eq!((answer.status.as_u16(), id.len()), (500, 36), "{answer:?}");
    assert_eq!(answer.body["detail"], format!("Internal Server Error (request {id})"));
    assert_eq!(answer.beside.as_deref(), Some("internal_error"));
}

#[tokio::test]
async fn missing_schema_is_503_with_retry_after() {
    let bench = Bench::new().await;
    bench.run("alter table goals rename to goals_of_tomorrow").await;
    let answer = bench.get(&format!("{P}/goals")).await;
    assert_eq!((answer.status.as_u16(), answer.header("retry-after")), (503, "2"));
    bench.run("alter table goals_of_tomorrow rename to goals").await;
    assert_eq!(bench.get(&format!("{P}/goals")).await.status, 200);
}

#[tokio::test]
async fn unavailable_database_is_503_with_retry_after() {
    let bench = Bench::new().await;
    bench.ledger.db().close().await;
    let answer = bench.get(&format!("{P}/folders")).await;
    assert_eq!(answer.status, 503);
    assert_eq!(answer.header("retry-after"), "2");
    assert_eq!(answer.body, json!({ "detail": "The service is temporarily unavailable" }));
    let answer = bench.post("/v1/conversations/any/finalize", json!({})).await;
    assert_eq!((answer.status.as_u16(), answer.header("retry-after")), (503, "2"));
    assert_eq!(answer.body, json!({ "detail": "Conversation finalization is temporarily unavailable" }));
}

#[tokio::test]
async fn migration_under_a_running_service_costs_one_retry() {
    let bench = Bench::new().await;
    let path = format!("{P}/conversations/nobodys");
    let delete = || bench.ask(&bench.key, Method::DELETE, &path, None);
    // Several at once: several sessions plan it, and are handed out in turn.
    futures::future::join_all((0..4).map(|_| delete())).await;
    bench.run("alter table finalization_jobs add column added_later bigint").await;
    let mut refused = Vec::new();
    for _ in 0..40 {
        let answer = delete().await;
        if answer.status != 404 {
            refused.push(answer);
        }
    }
    assert_eq!(refused.len(), 1, "{refused:?}");
    assert_eq!(refused[0].status, 503);
    assert!(refused[0].headers.contains_key("retry-after"));
}

//! Clients that hang up: their requests still complete, and other users' acknowledged writes stay committed.

use std::{future::poll_fn, pin::pin, sync::Arc, task::Poll, time::Duration};

use api::Scope;
use axum::{
    body::Body,
    http::{Method, Request},
};
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::bench::{Bench, P};
use crate::idempotency::creates;

/// A request of Ann's.
fn request(bench: &Bench, method: Method, path: &str, body: Option<&Value>) -> Request<Body> {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("authorization", format!("Bearer {}", bench.key))
        .header("content-type", "application/json");
    request.body(Body::from(body.map(Value::to_string).unwrap_or_default())).unwrap()
}

/// Sends a request, and hangs up after so many polls without an answer.
async fn hang_up_after(polls: usize, bench: &Bench, request: Request<Body>) {
    let mut answer = pin!(bench.app.clone().oneshot(request));
    let mut left = polls;
    poll_fn(|context| {
        left -= 1;
        match answer.as_mut().poll(context) {
            Poll::Pending if left > 0 => Poll::Pending,
            _ => Poll::Ready(()),
        }
    })
    .await;
}

/// Waits until the response of `path` satisfies `wanted`.
async fn until(bench: &Bench, path: &str, wanted: impl Fn(&Value) -> bool) {
    let seen = async { while !wanted(&bench.get(path).await.body) {} };
    tokio::time::timeout(Duration::from_secs(20), seen).await.unwrap_or_else(|_| panic!("{path} never came"));
}

fn count(list: &Value) -> usize {
    list.as_array().unwrap().len()
}

#[tokio::test]
async fn hang_up_during_create_still_completes_it_on_every_route() {
    for polls in [1, 2, 3] {
        let bench = Bench::new().await;
        for (path, body, list) in creates() {
            let before = count(&bench.get(&list).await.body);
            hang_up_after(polls, &bench, request(&bench, Method::POST, &path, Some(&body))).await;
            until(&bench, &list, |list| count(list) == before + 1).await;
        }
    }
}

#[tokio::test]
async fn hang_up_during_update_or_delete_still_completes_it() {
    let bench = Bench::new().await;
    let goal = json!({ "title": "Read", "target_value": 1 });
    for (list, new, change) in [
        ("memories", json!({ "content": "one" }), json!({ "content": "two" })),
        ("action-items", json!({ "description": "one" }), json!({ "description": "two" })),
        ("goals", goal, json!({ "title": "two" })),
        ("webhooks", json!({ "url": "https://example.com" }), json!({ "url": "https://example.com/two" })),
    ] {
        let list = format!("{P}/{list}");
        let id = bench.post(&list, new).await.body["id"].as_str().unwrap().to_owned();
        let place = format!("{list}/{id}");
        let (field, value) = change.as_object().unwrap().iter().next().unwrap();
        hang_up_after(1, &bench, request(&bench, Method::PATCH, &place, Some(&change))).await;
        until(&bench, &list, |list| list.as_array().unwrap().iter().any(|row| row[field] == *value)).await;
        hang_up_after(1, &bench, request(&bench, Method::DELETE, &place, None)).await;
        until(&bench, &list, |list| count(list) == 0).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hang_ups_lose_no_acknowledged_write_of_another_user() {
    let bench = Arc::new(Bench::new().await);
    let writer = bench.person("bob", Scope::ALL).await;
    let hanging_up = tokio::spawn({
        let bench = Arc::clone(&bench);
        async move {
            let body = json!({ "content": "never read" });
            for number in 0.. {
                let request = match number % 3 {
                    0 => request(&bench, Method::POST, &format!("{P}/memories"), Some(&body)),
                    1 => request(&bench, Method::GET, &format!("{P}/conversations"), None),
                    _ => request(&bench, Method::GET, &format!("{P}/goals"), None),
                };
                hang_up_after(1 + number % 2, &bench, request).await;
                tokio::task::yield_now().await;
            }
        }
    });
    for number in 0..150 {
        let body = json!({ "content": format!("kept {number}") });
        let made = bench.ask(&writer, Method::POST, &format!("{P}/memories"), Some(body)).await;
        assert_eq!(made.status, 200, "{made:?}");
        let id = made.body["id"].as_str().unwrap();
        let kept = async |is: &str| {
            let question = format!("{is} (select from memories where memory_id = '{id}')");
            bench.run(&format!("do $$ begin assert {question}, 'write {number}'; end $$")).await;
        };
        kept("exists").await;
        let place = format!("{P}/memories/{id}");
        let gone = bench.ask(&writer, Method::DELETE, &place, None).await;
        assert_eq!(gone.status, 200, "{gone:?}");
        kept("not exists").await;
    }
    hanging_up.abort();
}

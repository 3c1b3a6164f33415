//! Each answer of the run route, with callers and runs that are played.

#![allow(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

use std::sync::{Arc, Mutex};

use axum::{
    Router,
    body::{Body as Sent, to_bytes},
    http::Request,
};
use futures::future::BoxFuture;
use job::Timestamp;
use prometheus::Registry;
use tower::ServiceExt;

use super::*;
use crate::{Deliveries, Invokers, Metrics, Settings};

/// Accepts these tokens.
#[derive(Debug)]
struct Texts;

impl Invokers for Texts {
    fn check<'a>(&'a self, token: Option<&'a str>) -> BoxFuture<'a, Result<(), NotInvoker>> {
        Box::pin(std::future::ready(match token {
            Some("good") => Ok(()),
            Some("other") => Err(NotInvoker::Forbidden),
            Some("early") => Err(NotInvoker::NoKeys),
            _ => Err(NotInvoker::NotAuthenticated),
        }))
    }
}

/// Answers all deliveries alike, and remembers them.
#[derive(Debug)]
struct Answers(Delivered, Mutex<Vec<(JobId, Generation)>>);

impl Deliveries for Answers {
    fn deliver(&self, job: JobId, generation: Generation) -> BoxFuture<'_, Delivered> {
        self.1.lock().unwrap().push((job, generation));
        Box::pin(std::future::ready(self.0))
    }
}

/// A router that answers deliveries so, and what it was handed.
fn router(delivered: Delivered, only_deliveries: bool) -> (Router, Arc<Answers>) {
    let answers = Arc::new(Answers(delivered, Mutex::default()));
    let deliveries: Arc<dyn Deliveries> = answers.clone();
    let settings = Settings { invokers: Arc::new(Texts), deliveries, only_deliveries, ..Settings::default() };
    let ledger = ledger::Ledger::new(db::Hosts::default(), ledger::Settings::default());
    let metrics = Metrics::register(&Registry::new()).unwrap();
    (crate::router(ledger, Arc::new(|_| true), settings, metrics), answers)
}

async fn ask(router: &Router, path: &str, token: Option<&str>, body: Sent) -> (u16, Option<String>, Value) {
    let mut request = Request::post(path).header("content-type", "application/json");
    if let Some(token) = token {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    let answer = router.clone().oneshot(request.body(body).unwrap()).await.unwrap();
    let again = answer.headers().get("retry-after").map(|value| value.to_str().unwrap().to_owned());
    let status = answer.status().as_u16();
    let body = to_bytes(answer.into_body(), 1 << 16).await.unwrap();
    (status, again, serde_json::from_slice(&body).unwrap_or_default())
}

/// A right body.
const BODY: &str = r#"{"job_id": "fj_1", "dispatch_generation": 3}"#;

#[tokio::test]
async fn run_route_answers_each_outcome_with_its_status() {
    let at = Timestamp::UNIX_EPOCH;
    let rows = [
        (Delivered::Done, 200, None, json!({ "status": "done" })),
        (Delivered::DeadLetter, 200, None, json!({ "status": "dead_letter" })),
        (Delivered::Retry(at), 200, None, json!({ "status": "retry", "ready_at": "1970-01-01T00:00:00Z" })),
        (Delivered::Acked, 200, None, json!({ "status": "acked", "job_status": "completed" })),
        (
            Delivered::Dropped("stale_generation"),
            200,
            None,
            json!({ "status": "dropped", "reason": "stale_generation" }),
        ),
        (Delivered::Leased(Duration::from_millis(9_400)), 409, Some("10"), json!({ "status": "leased" })),
        (Delivered::NotYet(Duration::from_secs(60)), 409, Some("61"), json!({ "status": "not_yet" })),
        (Delivered::Busy, 503, Some("5"), json!({ "status": "busy" })),
    ];
    for (delivered, status, again, body) in rows {
        let (router, answers) = router(delivered, false);
        let answered = ask(&router, PATH, Some("good"), BODY.into()).await;
        assert_eq!(answered, (status, again.map(str::to_owned), body), "{delivered:?}");
        assert_eq!(*answers.1.lock().unwrap(), [(JobId::from_text("fj_1"), Generation(3))]);
    }
}

#[tokio::test]
async fn run_route_checks_the_token_before_the_body() {
    for (token, status, again) in [
        (None, 401, None),
        (Some("bad"), 401, None),
        (Some("other"), 403, None),
        (Some("early"), 503, Some("10")),
    ] {
        let (router, answers) = router(Delivered::Done, false);
        // A body that never comes: a handler that waited for it would never answer.
        let silent = Sent::from_stream(futures::stream::pending::<Result<Vec<u8>, std::io::Error>>());
        let answered = ask(&router, PATH, token, silent).await;
        assert_eq!((answered.0, answered.1.as_deref()), (status, again), "{token:?}");
        assert!(answers.1.lock().unwrap().is_empty());
    }
    let (router, _) = router(Delivered::Done, false);
    let (.., body) = ask(&router, PATH, None, Sent::empty()).await;
    assert_eq!(body["detail"], "Not authenticated");
}

#[tokio::test]
async fn run_route_body_is_a_job_and_a_generation() {
    let problem = |kind: &str, loc: &str| (kind.to_owned(), json!(["body", loc]));
    let generation = |kind| problem(kind, "dispatch_generation");
    let rows = [
        (
            r#"{"job_id": "j", "dispatch_generation": 1, "user_id": "u"}"#,
            vec![problem("extra_forbidden", "user_id")],
        ),
        (r#"{"job_id": "j", "dispatch_generation": true}"#, vec![generation("int_type")]),
        (r#"{"job_id": "j", "dispatch_generation": "1"}"#, vec![generation("int_type")]),
        (r#"{"job_id": "j", "dispatch_generation": 1.0}"#, vec![generation("int_type")]),
        (r#"{"job_id": "j", "dispatch_generation": null}"#, vec![generation("int_type")]),
        (r#"{"job_id": "j", "dispatch_generation": 0}"#, vec![generation("greater_than_equal")]),
        (r#"{"job_id": "j", "dispatch_generation": -1}"#, vec![generation("greater_than_equal")]),
        (
            r#"{"job_id": "j", "dispatch_generation": 9223372036854775808}"#,
            vec![generation("less_than_equal")],
        ),
        (
            r#"{"job_id": "j", "dispatch_generation": 99999999999999999999999}"#,
            vec![generation("less_than_equal")],
        ),
        (r#"{"job_id": "", "dispatch_generation": 1}"#, vec![problem("string_too_short", "job_id")]),
        (r#"{"job_id": 7, "dispatch_generation": 1}"#, vec![problem("string_type", "job_id")]),
        ("{}", vec![problem("missing", "job_id"), generation("missing")]),
        ("", vec![("missing".to_owned(), json!(["body"]))]),
        ("[]", vec![("model_attributes_type".to_owned(), json!(["body"]))]),
    ];
    let (router, answers) = router(Delivered::Done, false);
    for (body, problems) in rows {
        let (status, _, answered) = ask(&router, PATH, Some("good"), body.into()).await;
        let found = answered["detail"].as_array().cloned().unwrap_or_default();
        let found: Vec<(String, Value)> =
            found.iter().map(|one| (one["type"].as_str().unwrap().to_owned(), one["loc"].clone())).collect();
        assert_eq!((status, found), (422, problems), "{body}");
    }
    let long = format!(r#"{{"job_id": "{}", "dispatch_generation": 1}}"#, "j".repeat(129));
    assert_eq!(ask(&router, PATH, Some("good"), long.into()).await.0, 422);
    assert!(answers.1.lock().unwrap().is_empty(), "nothing was delivered");
}

#[tokio::test]
async fn run_route_is_served_by_workers_only() {
    let (router, _) = router(Delivered::Done, true);
    assert_eq!(ask(&router, PATH, Some("good"), BODY.into()).await.0, 200);
    for path in ["/v1/conversations", "/openapi.json", "/v1/conversation-finalization-jobs/run/"] {
        assert_eq!(ask(&router, path, Some("good"), BODY.into()).await.0, 404, "{path}");
    }
}

#[tokio::test(start_paused = true)]
async fn run_route_has_a_longer_deadline_than_other_requests() {
    #[derive(Debug)]
    struct Slow;

    impl Deliveries for Slow {
        fn deliver(&self, _: JobId, _: Generation) -> BoxFuture<'_, Delivered> {
            Box::pin(async {
                tokio::time::sleep(Duration::from_secs(1_495)).await;
                Delivered::Done
            })
        }
    }

    let settings = Settings { invokers: Arc::new(Texts), deliveries: Arc::new(Slow), ..Settings::default() };
    let ledger = ledger::Ledger::new(db::Hosts::default(), ledger::Settings::default());
    let metrics = Metrics::register(&Registry::new()).unwrap();
    let router = crate::router(ledger, Arc::new(|_| true), settings, metrics);
    assert_eq!(ask(&router, PATH, Some("good"), BODY.into()).await.0, 200);
}

#[test]
fn the_run_route_is_not_in_the_public_document() {
    let document = crate::document(&Settings::default()).to_string();
    assert!(document.contains("/v1/conversations/{conversation_id}/finalize"));
    assert!(!document.contains("conversation-finalization-jobs"));
}

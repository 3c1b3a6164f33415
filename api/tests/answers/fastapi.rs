//! Validation compared with the real FastAPI: the bodies of `tests/fastapi/cases.py` and its recorded answers.

use axum::{body::Body, http::Request};
use serde_json::Value;

use crate::bench::Bench;

/// Written by `tests/fastapi/regenerate`.
const ANSWERS: &str = include_str!("../../../tests/fastapi/answers.json");

/// FastAPI takes a body that is right, and says 200; the service goes on to what the body is about, which may not exist
/// (404), be in another state (409), or be made (200, 201).
const TAKEN: [u16; 4] = [200, 201, 404, 409];

#[tokio::test]
async fn validation_errors_equal_fastapis() {
    let bench = Bench::new().await;
    let fixture: Value = serde_json::from_str(ANSWERS).unwrap();
    let cases = fixture["cases"].as_array().unwrap();
    assert!(cases.len() > 500, "the fixture was found");
    let mut differing = Vec::new();
    for case in cases {
        let answer = bench.send(request(case, &bench.key)).await;
        let expected = &case["answer"];
        let same = match expected["status"].as_u64().unwrap() {
            200 => TAKEN.contains(&answer.status.as_u16()),
            status => {
                u64::from(answer.status.as_u16()) == status && answer.body["detail"] == expected["detail"]
            }
        };
        if !same {
            let sent: String = case["body"].as_str().unwrap_or_default().chars().take(200).collect();
            differing.push(format!(
                "{}: {sent}\n  FastAPI {expected}\n  ours    {} {}",
                case["name"], answer.status, answer.body
            ));
        }
    }
    assert!(differing.is_empty(), "{} of {} differ:\n{}", differing.len(), cases.len(), differing.join("\n"));
}

fn request(case: &Value, key: &str) -> Request<Body> {
    let text = |name: &str| case[name].as_str();
    let mut request = Request::builder()
        .method(text("method").unwrap())
        .uri(text("path").unwrap())
        .header("authorization", format!("Bearer {key}"));
    if let Some(kind) = text("content_type").filter(|kind| !kind.is_empty()) {
        request = request.header("content-type", kind);
    }
    let body = match text("hex") {
        Some(hex) => {
            (0..hex.len() / 2).map(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).unwrap()).collect()
        }
        None => text("body").unwrap_or_default().as_bytes().to_vec(),
    };
    request.body(Body::from(body)).unwrap()
}

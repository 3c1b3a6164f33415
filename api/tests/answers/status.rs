//! `GET /v1/status`.

use api::Settings;
use axum::{body::Body, http::Request};
use serde_json::json;

use crate::bench::{Bench, quick};

#[tokio::test]
async fn status_names_the_engine_of_each_ability() {
    let engines = vec![("describe", "openai:small@models.example/p3".to_owned())];
    let bench = Bench::with(Settings { engines, ..quick() }).await;
    let answer = bench.send(Request::builder().uri("/v1/status").body(Body::empty()).unwrap()).await;
    assert_eq!(answer.status, 200);
    let expected = json!({
        "version": env!("CARGO_PKG_VERSION"), "engines": {"describe": "openai:small@models.example/p3"},
    });
    assert_eq!(answer.body, expected);
}

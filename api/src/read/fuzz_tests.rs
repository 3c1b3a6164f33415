//! Whatever is sent is read or refused: no panic, nothing echoed, bounded time. `PROPTEST_CASES` sets how many bodies
//! are tried.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail loudly")]

use std::time::{Duration, Instant};

use axum::response::IntoResponse;
use futures::executor::block_on;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::Error;

/// What a person said: it must never come back in a refusal.
const CANARY: &str = "zwitscherling";

/// Fields that the reader below knows.
const OURS: &[&str] = &["text", "count", "share", "truth", "at", "colour", "list", "n", CANARY];

/// Reads a body with a field of every kind, the way routes do.
fn read(bytes: Vec<u8>, kind: &str) -> Result<(), Error> {
    let colours = || Choice::of([("red", 1), ("green", 2)]);
    object(Body::sent(&bytes, kind), |fields| {
        let text = fields.required("text", Text::between(1, 50));
        let count = fields.optional("count", Int::between(-5, 5));
        let share = fields.optional("share", Float::between(0.0, 1.0));
        let truth = fields.present("truth", Bool);
        let at = fields.optional("at", Moment).map(|moment| moment.at);
        let colour = fields.optional("colour", colours());
        let inner = |fields: &mut Fields<'_>| Some((fields.required("n", Int::between(0, 9))?, ()));
        let list = fields.optional("list", ListOf { item: Object(inner), min: 1, max: 4 });
        Some((text?, count, share, truth, at, colour, list))
    })
    .map(drop)
}

/// A refusal says what is wrong and where, and nothing of what was sent.
fn check(answer: Result<(), Error>) {
    let Err(error) = answer else { return };
    let response = error.into_response();
    let status = response.status();
    assert!(status.is_client_error(), "{status}");
    let bytes = block_on(axum::body::to_bytes(response.into_body(), usize::MAX)).unwrap();
    let answer: Value = serde_json::from_slice(&bytes).unwrap();
    assert!(!answer.to_string().contains(CANARY), "{answer}");
    if let Some(problems) = answer["detail"].as_array() {
        assert!(!problems.is_empty());
        for problem in problems {
            assert!(problem["type"].is_string() && problem["msg"].is_string() && problem["loc"].is_array());
        }
    }
}

/// Values of every kind, with the canary among the texts.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,60}".prop_map(Value::from),
        Just(Value::from(CANARY.repeat(8))),
        "[-+0-9_.eE: TZ]{0,30}".prop_map(Value::from),
        prop_oneof![Just("red"), Just("on"), Just("NaN"), Just("2026-11-21T10:00:00+25:00"), Just("\0")]
            .prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::hash_map(name(), inner, 0..6)
                .prop_map(|map| map.into_iter().collect::<Value>()),
        ]
    })
}

/// Names of fields: ours, and others.
fn name() -> impl Strategy<Value = String> {
    prop_oneof![4 => prop::sample::select(OURS).prop_map(str::to_owned), 1 => ".{0,12}"]
}

proptest! {
    #[test]
    fn fuzz_any_json_document_is_read_or_refused(fields in prop::collection::hash_map(name(), value(), 0..9)) {
        let document: Value = fields.into_iter().collect();
        check(read(document.to_string().into_bytes(), "application/json"));
    }

    #[test]
    fn fuzz_any_bytes_are_read_or_refused(bytes: Vec<u8>, kind in "(application/json|text/plain|application/[a-z+]{1,12}|)") {
        check(read(bytes, &kind));
    }

    #[test]
    fn fuzz_malformed_json_is_refused(document in value(), at in any::<prop::sample::Index>(), bytes in "[\\x00-\\x7f]{0,3}") {
        let mut text = json!({ "text": "ok", "list": [{ "n": 1 }], "x": document }).to_string().into_bytes();
        let at = at.index(text.len());
        text.splice(at..at + 1, bytes.into_bytes());
        check(read(text, "application/json"));
    }
}

#[test]
fn large_and_deep_bodies_are_read_in_bounded_time() {
    let deep = |open: &str, close: &str| format!("{}{}", open.repeat(200_000), close.repeat(200_000));
    let bodies = [
        deep("[", "]"),
        deep("{\"a\":", "}"),
        format!("{{\"text\":\"{}\"}}", "\\u0000".repeat(300_000)),
        format!("{{\"list\":[{}0]}}", "{\"n\":11},".repeat(100_000)),
        format!("{{{}\"text\":\"a\"}}", "\"count\":1,".repeat(200_000)),
        format!("{{\"count\":{}}}", "9".repeat(1_000_000)),
        format!("{{\"at\":\"{}\"}}", "1".repeat(1_000_000)),
    ];
    for body in bodies {
        let begun = Instant::now();
        check(read(body.into_bytes(), "application/json"));
        assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    }
}

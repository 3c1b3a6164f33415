//! Whole bodies and queries against the answers that FastAPI gives.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail loudly")]

use std::{io, time::Duration};

use axum::extract::Request;
use futures::{StreamExt, stream};
use serde_json::{Value, json};

use super::*;
use crate::error::Problem;
use crate::{Error, error::Code};

/// Reads a body with two required fields and one optional one, and gives the `detail` of its refusal.
fn detail_of(bytes: &[u8], content_type: &str) -> Value {
    let read = object(Body::sent(bytes, content_type), |fields| {
        let a = fields.required("a", Text::between(1, 9));
        let b = fields.required("b", Bool);
        let c = fields.optional("c", Bool);
        Some((a?, b?, c))
    });
    match read {
        Ok(_) => json!("taken"),
        Err(Error::Invalid(problems)) => problems.iter().map(Problem::shape).collect(),
        Err(other) => json!(other.to_string()),
    }
}

const JSON: &str = "application/json";

#[test]
fn body_errors_name_every_failing_field_in_order() {
    let detail = detail_of(br#"{"c": "x", "a": ""}"#, JSON);
    let places: Vec<&Value> = detail.as_array().unwrap().iter().map(|problem| &problem["loc"]).collect();
    assert_eq!(places, [&json!(["body", "a"]), &json!(["body", "b"]), &json!(["body", "c"])]);
    assert_eq!(detail[1], json!({ "type": "missing", "loc": ["body", "b"], "msg": "Field required" }));
}

#[test]
fn non_object_body_is_answered_as_fastapi_does() {
    let missing = json!([{ "type": "missing", "loc": ["body"], "msg": "Field required" }]);
    assert_eq!(detail_of(b"", JSON), missing);
    let shape = json!([{
        "type": "model_attributes_type", "loc": ["body"],
        "msg": "Input should be a valid dictionary or object to extract fields from",
    }]);
    assert_eq!(detail_of(b"[]", JSON), shape);
    assert_eq!(detail_of(b"null", JSON), shape);
    assert_eq!(
        detail_of(br#"{"a":"x","b":true}"#, "text/plain"),
        shape,
        "not parsed without a JSON content type"
    );
    assert_eq!(detail_of(br#"{"a":"x","b":true}"#, ""), shape);
}

#[test]
fn json_content_types_byte_order_mark_and_duplicate_keys_are_accepted() {
    for kind in [JSON, "application/json; charset=utf-8", "application/vnd.api+json", "Application/JSON"] {
        assert_eq!(detail_of(br#"{"a":"x","b":true}"#, kind), "taken", "{kind}");
    }
    assert_eq!(detail_of("\u{feff}{\"a\":\"x\",\"b\":true}".as_bytes(), JSON), "taken");
    assert_eq!(detail_of(br#"{"a":1,"b":2,"a":"x","b":true}"#, JSON), "taken");
}

#[test]
fn body_that_is_not_utf8_is_refused() {
    assert_eq!(detail_of(b"{\"a\":\"\xff\"}", JSON), "unreadable_body");
    let utf16: Vec<u8> = "{\"a\":\"x\"}".encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_eq!(detail_of(&utf16, JSON), "unreadable_body");
}

#[test]
fn malformed_json_is_reported_in_pythons_words_and_positions() {
    // Offsets and messages as CPython 3.11's `json` gives them.
    for (text, at, message) in [
        (" ", 1, "Expecting value"),
        ("{", 1, "Expecting property name enclosed in double quotes"),
        ("{\"a\"", 4, "Expecting ':' delimiter"),
        ("{\"a\":", 5, "Expecting value"),
        ("{\"a\":1", 6, "Expecting ',' delimiter"),
        ("{\"a\":1,}", 7, "Expecting property name enclosed in double quotes"),
        ("{\"a\":1 ,  }", 10, "Expecting property name enclosed in double quotes"),
        ("[1,]", 3, "Expecting value"),
        ("[1 2]", 3, "Expecting ',' delimiter"),
        ("[", 1, "Expecting value"),
        ("\"abc", 0, "Unterminated string starting at"),
        ("\"a\nb\"", 2, "Invalid control character at"),
        ("\"\\x\"", 1, "Invalid \\escape"),
        ("\"\\u12\"", 2, "Invalid \\uXXXX escape"),
        ("\"\\u12G4\"", 2, "Invalid \\uXXXX escape"),
        ("\"\\", 0, "Unterminated string starting at"),
        ("nul", 0, "Expecting value"),
        ("1 2", 2, "Extra data"),
        ("-", 0, "Expecting value"),
        ("01", 1, "Extra data"),
        ("1.", 1, "Extra data"),
        ("{\"é\":\"日", 5, "Unterminated string starting at"),
        ("{\"a\":\"b\" \"c\"}", 9, "Expecting ',' delimiter"),
    ] {
        let expected = json!([{
            "type": "json_invalid", "loc": ["body", at], "msg": "JSON decode error", "ctx": { "error": message },
        }]);
        assert_eq!(detail_of(text.as_bytes(), JSON), expected, "{text:?}");
    }
}

#[test]
fn deeply_nested_json_is_refused() {
    assert_eq!(detail_of("[".repeat(1_000_000).as_bytes(), JSON), "unreadable_body");
}

#[test]
fn unrepresentable_values_of_ignored_fields_are_accepted() {
    let tower = format!("{}{}", "[".repeat(900), "]".repeat(900));
    for unrepresentable in
        ["1e400", "-1e400", r#""\ud83d""#, r#"{"\ud83d": 1}"#, "NaN", &"9".repeat(400), &tower]
    {
        let body = format!(
            r#"{{"a": "x", "x": {unrepresentable}, "b": true, "y": [1, {{"z": {unrepresentable}}}]}}"#
        );
        assert_eq!(detail_of(body.as_bytes(), JSON), "taken", "{unrepresentable}");
    }
}

#[test]
fn unrepresentable_values_of_read_fields_are_refused_at_their_field() {
    let kind = |text: &str| {
        let detail = detail_of(text.as_bytes(), JSON);
        (detail[0]["type"].clone(), detail[0]["loc"].clone(), detail.as_array().unwrap().len())
    };
    let at = |kind: &str, field: &str| (json!(kind), json!(["body", field]), 1);
    assert_eq!(kind(r#"{"a": "x\udc00", "b": true}"#), at("string_unicode", "a"));
    assert_eq!(kind(r#"{"a": "0123456789\udc00", "b": true}"#), at("string_too_long", "a"));
    assert_eq!(kind(r#"{"a": 1e400, "b": true}"#), at("string_type", "a"));
    assert_eq!(kind(r#"{"a": "x", "b": 1e400}"#), at("bool_type", "b"));
    let read = |text: &str| {
        let number = Float::between(f64::MIN, f64::MAX);
        let list = || ListOf { item: number, min: 0, max: 9 };
        match object(Body::sent(text.as_bytes(), JSON), |fields| fields.required("n", list())) {
            Err(Error::Invalid(problems)) => problems.iter().map(Problem::shape).collect(),
            other => json!(other.is_ok()),
        }
    };
    for infinite in ["1e400", "-1e400", "Infinity", "NaN", &"9".repeat(400)] {
        let finite = json!({
            "type": "finite_number", "loc": ["body", "n", 1], "msg": "Input should be a finite number",
        });
        assert_eq!(read(&format!(r#"{{"n": [1, {infinite}], "m": 1e400}}"#)), json!([finite]));
    }
    assert_eq!(read(r#"{"n": 1e400, "n": [1e308]}"#), true);
}

#[test]
fn reversed_date_range_is_refused_at_end_date() {
    let sent = Query::sent(&[("start_date", "2024-01-02"), ("end_date", "2024-01-01")]);
    let Err(Error::Invalid(problems)) = query(&sent, |fields| Some(date_range(fields))) else {
        panic!("taken")
    };
    assert_eq!(problems.len(), 1);
    assert_eq!(problems[0].shape()["loc"], json!(["query", "end_date"]));
    assert_eq!(problems[0].kind, "value_error");
    let day = Query::sent(&[("start_date", "2024-01-02"), ("end_date", "2024-01-02")]);
    assert!(query(&day, |fields| Some(date_range(fields))).is_ok(), "a date is its whole day at that end");
}

#[tokio::test(start_paused = true)]
async fn body_read_timeout_covers_the_whole_body() {
    let dripped = |bytes: usize| {
        let drops = stream::iter(0..bytes).then(async |_| {
            tokio::time::sleep(Duration::from_secs(1)).await;
            Ok::<_, io::Error>(" ")
        });
        let (parts, _) = Request::new(()).into_parts();
        async move { body::arriving(&parts, axum::body::Body::from_stream(drops), Duration::from_secs(60)).await }
    };
    assert_eq!(dripped(59).await.unwrap().len(), 59);
    assert!(matches!(dripped(61).await, Err(Error::Refused(Code::TooSlow))));
}

//! Streams as servers send them, well and badly.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail loudly")]

use std::sync::Mutex;

use serde_json::json;

use super::*;

/// What comes of chunks, sent in pieces of a few bytes.
fn gathered(chunks: &[Value]) -> (Option<Step>, String) {
    let said = Mutex::new(String::new());
    let say = |words: &str| said.lock().unwrap().push_str(words);
    let mut gathered = Gathered::default();
    let stream: String = chunks
        .iter()
        .map(|chunk| format!("data: {chunk}\n\n"))
        .chain(["data: [DONE]\n\n".to_owned()])
        .collect();
    for piece in stream.as_bytes().chunks(7) {
        gathered.take(piece, &say);
    }
    let step = gathered.finish(&say, &|_| {}).map(|message| message.step(0));
    (step, said.into_inner().unwrap())
}

fn delta(delta: Value) -> Value {
    json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}]})
}

fn piece(piece: Value) -> Value {
    delta(json!({"tool_calls": [piece]}))
}

/// The calls as (name, arguments).
fn calls(chunks: &[Value]) -> Vec<(String, Value)> {
    match gathered(chunks).0 {
        Some(Step::Calls { calls, .. }) => {
            calls.into_iter().map(|call| (call.name, call.arguments)).collect()
        }
        other => panic!("no calls: {other:?}"),
    }
}

fn both() -> Vec<(String, Value)> {
    vec![("search".to_owned(), json!({"query": "a"})), ("list_goals".to_owned(), json!({}))]
}

#[test]
fn calls_are_read_as_they_should_be_streamed() {
    let chunks = [
        piece(
            json!({"index": 0, "id": "x", "type": "function", "function": {"name": "search", "arguments": ""}}),
        ),
        piece(json!({"index": 0, "function": {"arguments": "{\"query\":"}})),
        piece(json!({"index": 0, "function": {"arguments": "\"a\"}"}})),
        piece(json!({"index": 1, "id": "y", "function": {"name": "list_goals", "arguments": "{}"}})),
    ];
    assert_eq!(calls(&chunks), both());
}

#[test]
fn calls_that_all_claim_index_0_are_told_apart_by_their_ids() {
    let chunks = [
        piece(json!({"index": 0, "id": "x", "function": {"name": "search", "arguments": "{\"query\":"}})),
        piece(json!({"index": 0, "id": "x", "function": {"arguments": "\"a\"}"}})),
        piece(json!({"index": 0, "id": "y", "function": {"name": "list_goals", "arguments": "{}"}})),
    ];
    assert_eq!(calls(&chunks), both());
}

#[test]
fn calls_without_ids_and_indexes_are_told_apart_by_their_names() {
    let chunks = [
        piece(json!({"function": {"name": "search", "arguments": "{\"query\":"}})),
        piece(json!({"function": {"arguments": "\"a\"}"}})),
        piece(json!({"function": {"name": "list_goals", "arguments": "{}"}})),
    ];
    assert_eq!(calls(&chunks), both());
    let twice = [
        piece(json!({"index": 0, "function": {"name": "search", "arguments": "{\"query\":\"a\"}"}})),
        piece(json!({"index": 0, "function": {"name": "search", "arguments": "{\"query\":\"b\"}"}})),
    ];
    assert_eq!(calls(&twice).len(), 2);
}

#[test]
fn arguments_may_be_an_object_and_a_name_may_be_repeated() {
    let chunks = [
        piece(json!({"index": 0, "id": "x", "function": {"name": "search", "arguments": {"query": "a"}}})),
        piece(json!({"index": 1, "id": "y", "function": {"name": "list_goals", "arguments": ""}})),
        piece(json!({"index": 1, "id": "y", "function": {"name": "list_goals", "arguments": "{}"}})),
    ];
    assert_eq!(calls(&chunks), both());
}

#[test]
fn a_server_that_does_not_stream_is_read_all_the_same() {
    let said = Mutex::new(String::new());
    let say = |words: &str| said.lock().unwrap().push_str(words);
    let whole = json!({"choices": [{"message": {"role": "assistant", "content": "Hello."}, "finish_reason": "stop"}]});
    let mut gathered = Gathered::default();
    gathered.take(serde_json::to_string_pretty(&whole).unwrap().as_bytes(), &say);
    let step = gathered.finish(&say, &|_| {}).unwrap().step(0);
    assert_eq!(step, Step::Answer { text: "Hello.".to_owned(), quotes: None });
    assert_eq!(said.into_inner().unwrap(), "Hello.");
}

#[test]
fn garbage_is_no_answer() {
    assert!(gathered(&[]).0.is_none(), "nothing came");
    assert!(gathered(&[delta(json!({"content": ""}))]).0.is_none());
    assert!(gathered(&[json!({"error": {"message": "overloaded"}})]).0.is_none());
    let cut = [piece(json!({"index": 0, "id": "x", "function": {"name": "search", "arguments": "{\"que"}}))];
    assert!(gathered(&cut).0.is_none(), "a call that is cut off is not made");
}

#[test]
fn words_are_said_as_they_come_and_thoughts_are_not() {
    let chunks = ["<thi", "nk>The user wants…", "</think>\n", "Here ", "it is."]
        .map(|text| delta(json!({"content": text})));
    let (step, said) = gathered(&chunks);
    assert_eq!(said, "Here it is.");
    assert_eq!(step, Some(Step::Answer { text: "Here it is.".to_owned(), quotes: None }));
}

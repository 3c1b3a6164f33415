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
fn arguments_may_be_cut_anywhere_and_pieces_may_say_nothing() {
    let arguments = r#"{"query":"\u00e4 \"ö\" \\ 🧠"}"#;
    let mut chunks = vec![
        json!({"choices": null}),
        json!({"choices": []}),
        delta(json!({})),
        json!({"choices": [{"delta": null}]}),
        piece(json!({"index": 0, "id": "x", "function": {"name": "search", "arguments": null}})),
        delta(json!({"role": "assistant", "content": null, "tool_calls": null})),
    ];
    for letter in arguments.chars() {
        chunks.push(piece(json!({"index": 0, "function": {"arguments": letter.to_string()}})));
        chunks.push(piece(json!({"index": 0, "function": {"arguments": ""}})));
        chunks.push(delta(json!({"content": "", "tool_calls": []})));
    }
    assert_eq!(calls(&chunks), [("search".to_owned(), json!({"query": "ä \"ö\" \\ 🧠"}))]);
}

#[test]
fn a_call_that_is_told_again_is_one_call() {
    let whole = r#"{"query":"a"}"#;
    for id in [json!(null), json!("x")] {
        let told = |arguments: &str| {
            piece(json!({"index": 0, "id": id, "function": {"name": "search", "arguments": arguments}}))
        };
        assert_eq!(calls(&[told(whole), told("")]).len(), 1, "{id}");
        assert_eq!(calls(&[told(whole), told(whole)]).len(), 1, "{id}");
        assert_eq!(calls(&[told(r#"{"query":"#), told(r#""a"}"#)]).len(), 1, "a name in each piece, {id}");
    }
}

#[test]
fn calls_that_share_an_id_are_told_apart_and_get_ids_of_their_own() {
    let chunks = [
        piece(
            json!({"index": 0, "id": "0", "function": {"name": "search", "arguments": "{\"query\":\"a\"}"}}),
        ),
        piece(json!({"index": 1, "id": "0", "function": {"name": "list_goals", "arguments": "{"}})),
        piece(json!({"index": 1, "id": "0", "function": {"arguments": "}"}})),
        piece(
            json!({"index": 2, "id": "0", "function": {"name": "search", "arguments": "{\"query\":\"b\"}"}}),
        ),
        piece(
            json!({"index": 3, "id": "0", "function": {"name": "search", "arguments": "{\"query\":\"c\"}"}}),
        ),
    ];
    let Some(Step::Calls { calls, .. }) = gathered(&chunks).0 else { panic!("no calls") };
    let names: Vec<&str> = calls.iter().map(|call| call.name.as_str()).collect();
    assert_eq!(names, ["search", "list_goals", "search", "search"]);
    let ids: HashSet<&str> = calls.iter().map(|call| call.id.as_str()).collect();
    assert_eq!(ids.len(), 4, "{ids:?}");
    let twice = json!({"choices": [{"message": {"tool_calls": [
        {"id": "0", "function": {"name": "search", "arguments": "{\"query\":\"a\"}"}},
        {"id": "0", "function": {"name": "search", "arguments": "{\"query\":\"b\"}"}},
    ]}}]});
    let whole = Message::of_completion(twice.to_string().as_bytes(), &|_| {}).unwrap();
    let Step::Calls { calls, .. } = whole.step(0) else { panic!("no calls") };
    assert_eq!(calls[1].arguments, json!({"query": "b"}));
    assert_ne!(calls[0].id, calls[1].id);
}

#[test]
fn words_around_calls_are_kept_and_no_ending_is_needed() {
    let said = Mutex::new(String::new());
    let say = |words: &str| said.lock().unwrap().push_str(words);
    let mut gathered = Gathered::default();
    for chunk in [
        json!({"choices": [{"delta": {"content": "Let me look. "}}]}),
        json!({"choices": [{"delta": {"tool_calls": [{"function": {"name": "list_goals", "arguments": "null"}}]}}]}),
        json!({"choices": [{"delta": {"content": "Done."}}]}),
    ] {
        gathered.take(format!("data:{chunk}\r\n").as_bytes(), &say);
    }
    let Step::Calls { calls, text } = gathered.finish(&say, &|_| {}).unwrap().step(2) else {
        panic!("no calls")
    };
    assert_eq!(
        (text.as_str(), said.into_inner().unwrap().as_str()),
        ("Let me look. Done.", "Let me look. Done.")
    );
    assert_eq!(
        calls,
        [Call { id: "call_2_0".to_owned(), name: "list_goals".to_owned(), arguments: json!({}) }]
    );
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

#[test]
fn line_that_comes_byte_by_byte_is_read_in_the_time_of_its_length() {
    let said = Mutex::new(0);
    let say = |words: &str| *said.lock().unwrap() += words.len();
    let mut gathered = Gathered::default();
    let line = format!("data: {}\n", delta(json!({"content": "a".repeat(2_000_000)})));
    line.as_bytes().chunks(1).for_each(|piece| gathered.take(piece, &say));
    gathered.take("\n".repeat(2_000_000).as_bytes(), &say);
    assert!(gathered.finish(&say, &|_| {}).is_some());
    assert_eq!(*said.lock().unwrap(), 2_000_000);
}

#[test]
fn answer_of_more_calls_than_a_turn_makes_is_no_answer() {
    let call = |n: usize| json!({"id": n.to_string(), "function": {"name": "search", "arguments": "{}"}});
    assert_eq!(calls(&(0..64).map(|n| piece(call(n))).collect::<Vec<_>>()).len(), 64);
    assert_eq!(gathered(&(0..65).map(|n| piece(call(n))).collect::<Vec<_>>()).0, None);
    let whole = |n| json!({"choices": [{"message": {"tool_calls": (0..n).map(call).collect::<Vec<_>>()}}]});
    let read = |n| Message::of_completion(whole(n).to_string().as_bytes(), &|_| {}).is_some();
    assert_eq!((read(64), read(65)), (true, false));
    let long = json!({"index": 0, "function": {"name": "search", "arguments": "a".repeat(40_000)}});
    assert_eq!(gathered(&[piece(long.clone()), piece(long)]).0, None, "80,000 bytes of arguments");
}

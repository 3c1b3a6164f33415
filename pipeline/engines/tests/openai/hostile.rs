//! Answers of any JSON and any bytes: each is read or `model_malformed`, never a panic, and no word of it is logged.

use std::io;
use std::sync::{Arc, Mutex};

use axum::http::StatusCode;
use axum::response::IntoResponse;
use job::FailureCode;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};
use stages::{Describe, Embed, ExtractItems, ExtractMemories, Failure, Interrupted, Judge, RunApp};
use tracing::instrument::WithSubscriber;

use crate::pages::{Pages, finalize_with, kept};
use crate::world::{Reply, World, description, folders, says, says_text, talk};

/// A word that only the model says.
const CANARY: &str = "zwitscherling";

/// JSON without an object in it, and what is no JSON.
const NO_OBJECTS: [&str; 20] = [
    "[]",
    "1",
    "\"x\"",
    "true",
    "null",
    "",
    " ",
    "{",
    "}",
    "}{",
    "[[]]",
    "[\"\", true]",
    "[[], [], []]",
    "1e999",
    "\u{0}",
    "{\"keep\": \"\\ud800\", \"title\": \"\\ud800\", \"tasks\": \"\\udc00\"}",
    "{]",
    "{\"a\":1,}",
    "<think>{}</think>[]",
    "\u{feff}",
];

#[derive(Clone, Copy, Debug)]
enum Ability {
    Judge,
    Describe,
    Survey,
    Items,
    Memories,
    App,
    Embed,
}

use Ability::*;

const READERS: [Ability; 6] = [Judge, Describe, Survey, Items, Memories, App];

/// What an ability makes of the next reply.
async fn ask(world: &World, ability: Ability) -> Result<(), Failure> {
    let (engine, talk) = (&world.engine, talk());
    let structure = serde_json::from_value(json!({
        "title": "T", "overview": "O", "category": "work", "emoji": "💼", "events": [], "folder_id": null,
    }));
    match ability {
        Judge => engine.judge(&talk).await.map(drop),
        Describe => engine.describe(&talk, &folders()).await.map(drop),
        Survey => engine.survey(&talk, &folders()).await.map(drop),
        Items => engine.extract_items(&talk).await.map(drop),
        Memories => engine.extract_memories(&talk).await.map(drop),
        App => engine.run_app("minutes", &talk, &structure.unwrap()).await.map(drop),
        Embed => engine.embed("words").await.map(drop),
    }
}

fn malformed() -> Result<(), Failure> {
    Err(Failure::of_class(FailureCode::ModelMalformed, job::ErrorClass::Malformed))
}

fn body(bytes: impl Into<Vec<u8>>) -> Reply {
    Reply::Made(Arc::new(Mutex::new(Some(bytes.into().into_response()))))
}

#[tokio::test]
async fn an_answer_without_an_object_is_malformed_for_every_ability() {
    let world = World::new([]).await;
    for text in NO_OBJECTS {
        for ability in READERS {
            world.will_say(says_text(text));
            assert_eq!(ask(&world, ability).await, malformed(), "{ability:?} of {text:?}");
        }
    }
}

#[tokio::test]
async fn a_body_that_is_no_completion_is_malformed_for_every_ability() {
    let world = World::new([]).await;
    let others = [
        &b"\xff\xfe\x00{"[..],
        b"{\"choices\": [{\"message\": {\"content\": \"\xc3\"}}]}",
        b"\x00\x00\x00\x00",
    ];
    for bytes in NO_OBJECTS.map(str::as_bytes).into_iter().chain(others) {
        for ability in READERS.into_iter().chain([Embed]) {
            world.will_say(body(bytes));
            assert_eq!(ask(&world, ability).await, malformed(), "{ability:?} of {bytes:?}");
        }
    }
}

/// One good answer for every ability that reads, with the canary in every text.
fn good() -> Value {
    let mut answer = description();
    for (name, value) in [
        ("title", json!(format!("Budget {CANARY}"))),
        ("reason", json!(CANARY)),
        ("keep", json!(true)),
        ("content", json!(CANARY)),
        ("description", answer.clone()),
        (
            "tasks",
            json!([{"lines": [1], "description": format!("Send the {CANARY}"), "owner": "Anna",
                "due_words": "by Tuesday", "due_local": "2026-11-24T12:00"}]),
        ),
        ("memories", json!([{"lines": [1], "content": format!("Anna sends {CANARY}"), "category": "work"}])),
    ] {
        answer[name] = value;
    }
    answer
}

/// The place of every value in `value`, as JSON pointers.
fn places(value: &Value, at: &str, found: &mut Vec<String>) {
    found.push(at.to_owned());
    match value {
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, item)| places(item, &format!("{at}/{index}"), found))
        }
        Value::Object(fields) => {
            fields.iter().for_each(|(name, field)| places(field, &format!("{at}/{name}"), found))
        }
        _ => {}
    }
}

#[tokio::test]
async fn a_field_of_any_other_type_is_read_or_malformed() {
    let world = World::new([]).await;
    let wrong = [
        Value::Null,
        json!(true),
        json!(-1),
        json!(u64::MAX),
        json!(1e300),
        json!(""),
        json!("a\u{0}b"),
        json!("+262142-12-31T23:59"),
        json!([]),
        json!([[[]]]),
        json!({}),
        json!({"": {"": null}}),
    ];
    let mut all = Vec::new();
    places(&good(), "", &mut all);
    for place in &all {
        for wrong in &wrong {
            let mut answer = good();
            *answer.pointer_mut(place).unwrap() = wrong.clone();
            for ability in READERS {
                world.will_say(says(&answer));
                let read = ask(&world, ability).await;
                assert!(read.is_ok() || read == malformed(), "{ability:?}: {wrong} at {place}: {read:?}");
            }
        }
    }
}

/// Any JSON, of the names that we look for and of others.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,20}".prop_map(Value::from),
        "(\u{0}|\u{202e}|<b>|2026-11-24|tomorrow){0,4}".prop_map(Value::from),
    ];
    const NAMES: [&str; 17] = [
        "choices",
        "message",
        "content",
        "text",
        "finish_reason",
        "usage",
        "data",
        "embedding",
        "keep",
        "title",
        "overview",
        "events",
        "description",
        "tasks",
        "memories",
        "lines",
        "folder",
    ];
    let name = prop_oneof![6 => prop::sample::select(&NAMES[..]).prop_map(str::to_owned), 1 => ".{0,8}"];
    leaf.prop_recursive(6, 60, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((name.clone(), inner), 0..6)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

#[test]
fn any_json_as_an_answer_or_as_the_whole_body_is_read_or_malformed() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let world = runtime.block_on(World::new([]));
    let as_answer = |value: &Value, ability| match ability {
        Embed => body(json!({"data": [{"embedding": value}]}).to_string()),
        _ => says(value),
    };
    let mut runner = TestRunner::new(ProptestConfig { cases: 96, ..ProptestConfig::default() });
    let ran = runner.run(&any_json(), |value| {
        for ability in READERS.into_iter().chain([Embed]) {
            for reply in [as_answer(&value, ability), Reply::Json(StatusCode::OK, value.clone())] {
                world.will_say(reply);
                let read = runtime.block_on(ask(&world, ability));
                prop_assert!(read.is_ok() || read == malformed(), "{ability:?} of {value}: {read:?}");
            }
        }
        Ok(())
    });
    ran.unwrap();
}

/// A log in memory.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn no_word_of_a_malformed_answer_is_logged() {
    let log = Log::default();
    let made = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(move || made.clone())
        .finish();
    let hostile = [
        json!(CANARY),
        json!([CANARY]),
        json!({CANARY: CANARY}),
        json!({"keep": CANARY, "title": [CANARY], "tasks": CANARY, "memories": CANARY, "content": [CANARY]}),
    ];
    let run = async {
        let world = World::new([]).await;
        for answer in hostile {
            for ability in READERS.into_iter().chain([Embed]) {
                world.will_say(says(&answer));
                assert_eq!(ask(&world, ability).await, malformed(), "{ability:?} of {answer}");
            }
        }
        tracing::info!("the log is read");
    };
    run.with_subscriber(subscriber).await;
    let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert!(log.contains("the log is read"), "{log}");
    assert!(!log.contains(CANARY), "{log}");
}

/// A reply to the survey or to the embedding, whichever is asked first.
fn both(answer: &Value, vector: &Value) -> Reply {
    let choices = json!([{"message": {"content": answer.to_string()}}]);
    Reply::Json(StatusCode::OK, json!({"choices": choices, "data": [{"embedding": vector}]}))
}

#[tokio::test]
async fn u0000_in_an_answer_reaches_no_checkpoint_and_no_result() {
    let mut all = Vec::new();
    places(&good(), "", &mut all);
    let mut answer = good();
    for place in &all {
        if let Some(Value::String(text)) = answer.pointer_mut(place) {
            text.push_str("\u{0}x");
        }
    }
    let world = World::new([both(&answer, &json!([0.5, 1.0])), both(&answer, &json!([0.5, 1.0]))]).await;
    let pages = Pages::default();
    world.will_say(says(&answer));
    let kept = kept(finalize_with(&pages, &world.engine, &talk(), folders(), &["minutes"], true).await);
    assert_eq!(kept.structure.title, "Budget review.x");
    assert_eq!((kept.items.new.len(), kept.memories.len(), kept.apps.len()), (1, 1, 1), "{kept:?}");
    assert!(!format!("{kept:?}").contains("\\0"), "{kept:?}");
    let written = pages.written();
    assert!(written.contains(CANARY) && !written.contains("\\u0000"), "{written}");
}

#[tokio::test]
async fn a_vector_with_text_in_it_fails_the_run_as_malformed() {
    let reply = || both(&good(), &json!(["a\u{0}"]));
    let world = World::new([reply(), reply()]).await;
    let ended = finalize_with(&Pages::default(), &world.engine, &talk(), folders(), &[], true).await;
    assert_eq!(ended.err(), Some(Interrupted::Failed(malformed().unwrap_err())));
}

//! What is really sent, to the byte. A change of a prompt shows here, and asks for a new version in the
//! engine's id. `SNAPSHOTS=write cargo test -p engines --test openai prompts` accepts what is sent now.

use std::path::Path;
use std::{env, fs};

use serde_json::{Value, json};
use stages::{Describe, ExtractItems, ExtractMemories, Judge, RunApp, Structure};

use crate::world::{World, folders, says, talk};

/// The messages of every question about one talk, by name.
async fn sent() -> Vec<(&'static str, Vec<Value>)> {
    let empty =
        says(&json!({"title": "", "overview": "", "keep": true, "tasks": [], "memories": [], "content": "",
        "description": {"title": "", "overview": ""}}));
    let world = World::new(std::iter::repeat_n((), 8).map(|()| empty.clone())).await;
    let structure: Structure = serde_json::from_value(json!({
        "title": "Budget", "overview": "A budget.", "category": "work", "emoji": "💼", "events": [], "folder_id": null,
    }))
    .unwrap();
    let (engine, talk, folders) = (&world.engine, talk(), folders());
    engine.judge(&talk).await.unwrap();
    engine.survey(&talk, &folders).await.unwrap();
    engine.describe(&talk, &folders).await.unwrap();
    engine.extract_items(&talk).await.unwrap();
    engine.extract_memories(&talk).await.unwrap();
    for app in ["minutes", "decisions", "questions"] {
        engine.run_app(app, &talk, &structure).await.unwrap();
    }
    let names = ["judge", "survey", "describe", "items", "memories", "minutes", "decisions", "questions"];
    let heard = world.heard();
    names
        .into_iter()
        .zip(heard.iter().map(|request| request.body["messages"].as_array().unwrap().clone()))
        .collect()
}

fn content(message: &Value) -> &str {
    message["content"].as_str().unwrap()
}

#[tokio::test]
async fn what_is_sent_is_what_was_agreed() {
    for (name, messages) in sent().await {
        let text: String = messages
            .iter()
            .map(|message| format!("=== {}\n{}\n", message["role"], content(message)))
            .collect();
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/openai/snapshots/{name}.txt"));
        if env::var_os("SNAPSHOTS").is_some() {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, &text).unwrap();
        }
        assert_eq!(
            fs::read_to_string(&path).unwrap(),
            text,
            "{name}: is it meant? then raise the prompts' version"
        );
    }
}

#[tokio::test]
async fn every_question_about_a_talk_begins_with_the_same_bytes() {
    let sent = sent().await;
    let (_, first) = &sent[0];
    let talk_of = |messages: &[Value]| {
        let text = content(&messages[1]);
        text[..text.find(" ENDS\n").unwrap()].to_owned()
    };
    for (name, messages) in &sent {
        assert_eq!(content(&messages[0]), content(&first[0]), "{name}");
        assert_eq!(talk_of(messages), talk_of(first), "{name}");
    }
}

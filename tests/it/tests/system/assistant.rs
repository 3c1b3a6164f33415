//! The assistant on the real binary: a chat turn whose process is killed.

use std::time::Duration;

use mock_model::{Fault, Kind, Mock, Options, Turn};
use reqwest::StatusCode;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::client::http;
use crate::process::{Process, until};
use crate::world::World;

/// What docs/assistant.md promises, and a little for a busy machine.
const LEASE: Duration = Duration::from_secs(20);
const TOLERANCE: Duration = Duration::from_secs(8);

/// A user of the chat of one process.
struct Chat<'a> {
    process: &'a Process,
    key: &'a str,
}

impl Chat<'_> {
    /// Sends a message and waits for the reply in one body.
    async fn say(&self, message: &Value) -> (StatusCode, Value) {
        let answer = http()
            .post(format!("{}/v2/messages", self.process.api))
            .bearer_auth(self.key)
            .header("accept", "application/json")
            .json(message)
            .send()
            .await
            .expect("the service answers");
        (answer.status(), answer.json().await.expect("it answers in JSON"))
    }

    async fn get(&self, path: &str) -> Vec<Value> {
        let url = format!("{}{path}", self.process.api);
        let answer = http().get(url).bearer_auth(self.key).send().await.expect("the service answers");
        let list: Value = answer.json().await.expect("it answers in JSON");
        list.as_array().expect("a list").clone()
    }
}

#[tokio::test]
async fn chat_turn_of_a_killed_process_repeats_no_tool_and_unblocks_in_time() {
    let (world, model) = (World::new().await, Mock::start(Options::default()).await.expect("a port is free"));
    let base = model.base_url();
    let settings = [
        ("LISTEN_TEXT_ENGINE", "openai"),
        ("LISTEN_OPENAI_BASE_URL", base.as_str()),
        ("LISTEN_OPENAI_MODEL", "fake"),
    ];
    let doomed = Process::serve(&world.url, &settings).await;
    let next = Process::serve(&world.url, &settings).await;
    let (doomed_chat, chat) =
        (Chat { process: &doomed, key: world.key() }, Chat { process: &next, key: world.key() });
    let call = ("create_action_item", json!({"description": "Water the plants"}));
    model.turns([Turn { text: "I note it. ".to_owned(), ..Turn::calls(&[call]) }]);
    model.fault(Fault::once(Kind::Slow { millis: 0 }));
    model.fault(Fault::once(Kind::Hang));

    let asked = json!({"text": "Remind me to water the plants", "id": "m1"});
    let streaming = http()
        .post(format!("{}/v2/messages", doomed.api))
        .bearer_auth(world.key())
        .json(&asked)
        .send()
        .await
        .expect("the stream begins");
    until(async || {
        let messages = doomed_chat.get("/v2/messages").await;
        messages.get(1).is_some_and(|reply| reply["tools"][0]["ok"] == true)
    })
    .await;
    until(async || model.calls().len() == 2).await;
    doomed.kill().await;
    let killed = Instant::now();
    assert!(streaming.text().await.is_err(), "the stream breaks off and does not pretend to end");

    let (status, repeated) = chat.say(&asked).await;
    assert_eq!((status, &repeated["status"]), (StatusCode::OK, &json!("running")), "{repeated}");
    let hello = json!({"text": "Hello?", "id": "m2"});
    let (status, refusal) = chat.say(&hello).await;
    assert_eq!(status, StatusCode::CONFLICT, "{refusal}");
    let answered = loop {
        let (status, answer) = chat.say(&hello).await;
        if status == StatusCode::OK {
            break answer;
        }
        assert!(killed.elapsed() < LEASE + TOLERANCE, "the chat is blocked: {answer}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    };
    assert_eq!((&answered["status"], &answered["text"]), (&json!("completed"), &json!("Very well.")));

    let messages = chat.get("/v2/messages").await;
    let texts: Vec<&str> =
        messages.iter().map(|message| message["text"].as_str().expect("a text").trim()).collect();
    assert_eq!(texts, ["Remind me to water the plants", "I note it.", "Hello?", "Very well."]);
    assert_eq!(messages[1]["status"], "failed");
    assert_eq!(messages[1]["error"]["code"], "interrupted");
    assert_eq!(messages[1]["tools"][0]["name"], "create_action_item");
    let shown = model.calls().last().expect("it was asked").body.to_string();
    assert!(shown.contains("I note it."), "the model is shown what was said before: {shown}");

    let (_, repeated) = chat.say(&asked).await;
    assert_eq!(repeated, messages[1], "a repeat asks nothing again");
    assert_eq!(model.calls().len(), 3);
    assert_eq!(chat.get("/v1/dev/user/action-items").await.len(), 1, "no tool was run twice");
}

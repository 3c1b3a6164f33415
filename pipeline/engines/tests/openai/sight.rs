//! Pictures: how the model is asked, and what an answer is worth.

use std::sync::atomic::Ordering;

use job::FailureCode;
use secrecy::SecretString;
use serde_json::json;
use stages::{Describe, Engine, Judge, Verdict};

use crate::world::{World, says, says_text, status, talk};

#[tokio::test]
async fn a_picture_is_sent_as_a_data_url_to_the_model_that_sees() {
    let mut world =
        World::new([says_text("<think>a board</think>A whiteboard."), says_text("Ein Zug.")]).await;
    assert!(!world.engine.sees());
    world.engine = world.engine.seeing_with(Some("eyes"));
    assert!(world.engine.sees());
    assert_eq!(world.engine.sight_id(), format!("openai:eyes@{}/p4", world.address));
    assert_ne!(world.engine.sight_id(), world.engine.id());

    assert_eq!(world.engine.describe_photo("/9j/AA==", "en").await, Ok("A whiteboard.".to_owned()));
    assert_eq!(world.engine.describe_photo("iVBORw0KGgoAAA==", "de").await, Ok("Ein Zug.".to_owned()));

    let heard = world.heard();
    assert_eq!((heard[0].path.as_str(), &heard[0].body["model"]), ("/v1/chat/completions", &json!("eyes")));
    let content = |number: usize| heard[number].body["messages"][1]["content"].clone();
    let image = |url: &str| json!({ "type": "image_url", "image_url": { "url": url } });
    assert_eq!(content(0)[1], image("data:image/jpeg;base64,/9j/AA=="));
    let german =
        json!([{ "type": "text", "text": "Language: de" }, image("data:image/png;base64,iVBORw0KGgoAAA==")]);
    assert_eq!(content(1), german);
    let counted = world.counts.tokens.lock().unwrap().clone();
    assert!(counted.contains(&("describe_photos", "prompt", 120)), "{counted:?}");
    assert_eq!(world.counts.calls.lock().unwrap()[0], ("describe_photos", "answered"));
}

#[tokio::test]
async fn a_server_that_cannot_see_is_a_failure_of_the_picture() {
    let mut world = World::new([status(400), status(401), status(401)]).await;
    world.engine = world.engine.seeing_with(Some("eyes"));
    for _ in 0..2 {
        let failed = world.engine.describe_photo("/9j/AA==", "en").await.unwrap_err();
        assert_eq!(failed.code, FailureCode::ModelRejected);
    }
    let own = world.engine.with_users_key(&SecretString::from("sk-own")).unwrap();
    let refused = own.describe_photo("/9j/AA==", "en").await.unwrap_err();
    assert_eq!(refused.code, FailureCode::ByokKeyRejected);
    assert_eq!(world.heard()[2].authorization.as_deref(), Some("Bearer sk-own"));
}

#[tokio::test]
async fn a_model_that_is_away_or_unknown_says_nothing_of_the_model_that_reads() {
    let mut world = World::new([404, 500, 500, 500, 500, 500].map(status)).await;
    world.engine = world.engine.seeing_with(Some("eyes"));
    let unknown = world.engine.describe_photo("/9j/AA==", "en").await.unwrap_err();
    assert_eq!(unknown.code, FailureCode::ModelRejected);
    for _ in 0..2 {
        world.engine.describe_photo("/9j/AA==", "en").await.unwrap_err();
    }
    let left_alone = world.engine.describe_photo("/9j/AA==", "en").await.unwrap_err();
    assert!(left_alone.circuit_open, "after five failures in a row: {left_alone:?}");
    assert_eq!(world.heard().len(), 6);

    assert!(!world.counts.open.load(Ordering::Relaxed), "the circuit that is shown is the other's");
    let health = world.engine.server().unwrap();
    assert_eq!((health.open_for, health.called), (None, None));
    world.will_say(says(&json!({"reason": "", "keep": true})));
    assert_eq!(world.engine.judge(&talk()).await, Ok(Verdict::Keep));
}

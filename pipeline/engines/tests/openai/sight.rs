//! Pictures: how the model is asked, and what an answer is worth.

use job::FailureCode;
use serde_json::json;
use stages::{Describe, Engine};

use crate::world::{World, says_text, status};

#[tokio::test]
async fn a_picture_is_sent_as_a_data_url_to_the_model_that_sees() {
    let mut world =
        World::new([says_text("<think>a board</think>A whiteboard."), says_text("Ein Zug.")]).await;
    assert!(!world.engine.sees());
    world.engine = world.engine.seeing_with(Some("eyes"));
    assert!(world.engine.sees());
    assert_eq!(world.engine.sight_id(), format!("openai:eyes@{}/p3", world.address));
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
    let mut world = World::new([status(400), status(401)]).await;
    world.engine = world.engine.seeing_with(Some("eyes"));
    for _ in 0..2 {
        let failed = world.engine.describe_photo("/9j/AA==", "en").await.unwrap_err();
        assert_eq!(failed.code, FailureCode::ModelRejected);
    }
}

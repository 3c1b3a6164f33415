//! Replaying a dead letter on the real binary.

use mock_model::{Mock, Options};
use serde_json::json;

use crate::binary;
use crate::process::Process;
use crate::receiver::Receiver;
use crate::world::{GARDEN, World};

/// A model that refuses requests without a key, no key, and no second try.
pub(crate) fn broken(url: &str) -> [(&'static str, &str); 4] {
    [
        ("LISTEN_TEXT_ENGINE", "openai"),
        ("LISTEN_OPENAI_BASE_URL", url),
        ("LISTEN_OPENAI_MODEL", "mock"),
        ("LISTEN_FINALIZATION_MAX_ATTEMPTS", "1"),
    ]
}

/// The server of that model.
pub(crate) async fn locked_model() -> Mock {
    let locked = Options { keys: vec!["sk-other".to_owned()], ..Options::default() };
    Mock::start(locked).await.expect("a port is free")
}

#[tokio::test]
async fn operator_replays_a_dead_letter() {
    let world = World::new().await;
    let receiver = Receiver::start().await;
    let mock = locked_model().await;
    let url = mock.base_url();
    let broken = Process::serve(&world.url, &broken(&url)).await;
    let client = world.client(&broken);
    client.register_webhook(&receiver.url()).await;
    let id = client.admit(GARDEN).await;
    let died = client.finished(&id).await;
    assert_eq!(died["status"], "dead_letter");
    let dead = binary::the_job(&world.url);
    assert_eq!(dead["attempts"], json!(1), "{dead}");
    let job_id = dead["job_id"].as_str().expect("a job has an id");
    broken.kill().await;
    let mended = Process::serve(&world.url, &[]).await;

    binary::printed(
        &world.url,
        &["jobs", "replay", job_id, "--reason", "the model is back", "--operator", "ann"],
    );

    let client = world.client(&mended);
    assert_eq!(client.finished(&id).await["status"], "completed");
    let replayed = binary::the_job(&world.url);
    assert_eq!(replayed["job_id"], dead["job_id"]);
    assert_ne!(replayed["dispatch_generation"], dead["dispatch_generation"]);
    assert_eq!(replayed["attempts"], json!(0), "{replayed}");
    let conversation = client.conversation(&id).await;
    assert_eq!((&conversation["status"], &conversation["discarded"]), (&json!("completed"), &json!(false)));
    assert!(client.items(&id).await.len() >= 2, "{conversation}");
    assert_eq!(world.count("select count(*) from operator_actions where operator = 'ann'").await, 1);
    let twice = binary::command(&world.url, &["jobs", "replay", job_id, "--reason", "again"]);
    assert!(!twice.status.success(), "only a dead letter is replayed");
    receiver.posts(1).await;
    let told = receiver.events();
    assert_eq!(told.get(&("conversation.completed".to_owned(), id)), Some(&1), "{told:?}");
}

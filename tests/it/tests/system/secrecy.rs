//! What a person said is in the database and nowhere else.

use crate::client::page;
use crate::process::Process;
use crate::receiver::Receiver;
use crate::world::World;

/// A word that nothing but these transcripts can have brought into a log.
const CANARY: &str = "zwitscherling";

#[tokio::test]
async fn logs_contain_no_user_content() {
    let world = World::new().await;
    let receiver = Receiver::start().await;
    let roles = |roles| [("LISTEN_ROLES", roles), ("LISTEN_LOG", "debug")];
    let door = Process::serve(&world.url, &roles("api")).await;
    let mut worker = Process::serve(&world.url, &roles("worker,reconciler")).await;
    let client = world.client(&door);
    client.tell(&receiver.url()).await;
    let promise = format!("I will order the {CANARY} tiles from the builder by Friday.");
    let love = format!("I love {CANARY}, it is my favourite flower.");

    let id = client.admit(&["Let's plan the garden.", "What is missing?", &promise, "Good.", &love]).await;

    client.finished(&id).await;
    worker.line("told", |_| true).await;
    worker.line("stage started", |line| line["level"] == "DEBUG").await;
    let items = client.items(&id).await;
    assert!(items.iter().any(|item| item.contains(CANARY)), "the canary went through the system: {items:?}");
    for process in [&door, &worker] {
        let (_, metrics) = page(&format!("{}/metrics", process.admin)).await;
        for text in [process.logs(), metrics] {
            assert!(!text.is_empty());
            assert!(!text.to_lowercase().contains(CANARY), "{text}");
            assert!(!text.contains(world.key()), "a key was told");
        }
    }
}

//! The normal path: finalize, run, complete, deliver.

use reqwest::{Method, StatusCode};
use serde_json::json;

use crate::binary;
use crate::client::deferred;
use crate::process::{Process, STEADY};
use crate::receiver::Receiver;
use crate::world::{GARDEN, World};

#[tokio::test]
async fn finalize_runs_through_the_outbox_with_one_delivery() {
    let world = World::new().await;
    let receiver = Receiver::start().await;
    let process = Process::serve(&world.url, &[]).await;
    let client = world.client(&process);
    client.register_webhook(&receiver.url()).await;

    let id = client.admit(GARDEN).await;

    assert_eq!(client.finished(&id).await["status"], "completed");
    let conversation = client.conversation(&id).await;
    assert_eq!(conversation["status"], "completed");
    assert_ne!(conversation["structured"]["title"], "");
    assert_eq!(conversation["apps_results"][0]["app_id"], "minutes", "{conversation}");
    assert!(client.items(&id).await.len() >= 2, "{conversation}");
    receiver.posts(1).await;
    receiver.quiet().await;
    assert!(receiver.ids().values().all(|times| *times == 1), "{:?}", receiver.ids());
    let told = receiver.events();
    assert_eq!(told.get(&("conversation.completed".to_owned(), id)), Some(&1), "{told:?}");
}

#[tokio::test]
async fn calendar_title_and_user_language_are_used() {
    let world = World::new().await;
    let process = Process::serve(&world.url, &[]).await;
    let client = world.client(&process);
    let (changed, _) = client.ask(Method::PATCH, "/v1/users/me", Some(&json!({ "language": "en-GB" }))).await;
    assert_eq!(changed, StatusCode::OK);
    let id = client.ingest(GARDEN).await;

    let meeting =
        json!({ "title": "Garden council", "participants": [{ "name": "Tom" }], "notes": "The fence." });
    let path = format!("/v1/conversations/{id}/finalize");
    let (finalized, _) =
        client.ask(Method::POST, &path, Some(&json!({ "calendar_meeting_context": meeting }))).await;
    assert_eq!(finalized, StatusCode::OK);

    assert_eq!(client.finished(&id).await["status"], "completed");
    let conversation = client.conversation(&id).await;
    assert_eq!(conversation["structured"]["title"], "Garden council");
    assert_eq!(conversation["language"], "en-GB");
}

#[tokio::test]
async fn inline_mode_refuses_finalize_without_changes() {
    let world = World::new().await;
    let outbox = Process::serve(&world.url, &[("LISTEN_ROLES", "api")]).await;
    let id = world.client(&outbox).ingest(GARDEN).await;
    outbox.kill().await;
    let inline = Process::serve(&world.url, &[("LISTEN_FINALIZATION_DISPATCH_MODE", "inline")]).await;
    let client = world.client(&inline);
    let before = client.conversation(&id).await;

    let path = format!("/v1/conversations/{id}/finalize");
    let (finalized, _) = client.ask(Method::POST, &path, Some(&json!({}))).await;
    let path = "/v1/dev/user/conversations/from-segments";
    let (ingested, _) = client.ask(Method::POST, path, Some(&deferred(GARDEN))).await;

    assert_eq!(finalized, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(ingested, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(client.conversation(&id).await, before);
    assert_eq!(world.count("select count(*) from conversations").await, 1);
    assert_eq!(world.count("select count(*) from finalization_jobs").await, 0);
}

#[tokio::test]
async fn two_processes_share_the_jobs() {
    // Two runs at once, a second each: one process alone would need ten seconds.
    let slow = [("LISTEN_FINALIZATION_CONCURRENCY", "2"), ("LISTEN_DEMO_PAUSE_AFTER", "describe=1")];
    let settings = [slow, STEADY].concat();
    let world = World::new().await;
    let receiver = Receiver::start().await;
    let (one, other) =
        tokio::join!(Process::serve(&world.url, &settings), Process::serve(&world.url, &settings));
    let clients = [world.client(&one), world.client(&other)];
    clients[0].register_webhook(&receiver.url()).await;

    let mut ids = Vec::new();
    for number in 0..20 {
        ids.push(clients[number % 2].admit(GARDEN).await);
    }

    for id in &ids {
        assert_eq!(clients[1].finished(id).await["status"], "completed");
    }
    for process in [&one, &other] {
        assert!(process.logs().contains("run started"), "{}", process.logs());
    }
    let jobs = binary::jobs(&world.url);
    assert_eq!(jobs.len(), 20);
    for job in jobs {
        assert_eq!(
            (&job["attempts"], &job["crashes"], &job["runs"]),
            (&json!(0), &json!(0), &json!(1)),
            "{job}"
        );
    }
    receiver.posts(20).await;
    receiver.quiet().await;
    assert!(receiver.ids().values().all(|times| *times == 1), "{:?}", receiver.ids());
    for id in ids {
        assert_eq!(receiver.events().get(&("conversation.completed".to_owned(), id)), Some(&1));
    }
}

//! Workers that are killed, frozen or stopped during a run.

use std::collections::BTreeSet;
use std::process::Stdio;

use reqwest::StatusCode;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::process::Command;
use tokio::time::timeout;

use crate::binary;
use crate::client::{Client, page};
use crate::process::{PATIENCE, Process, until};
use crate::receiver::Receiver;
use crate::world::{GARDEN, World};

/// Longer than any test waits: such a run never goes on by itself.
const FOR_EVER: u32 = 600;

/// Where a conversation is made.
const CREATE: &str = "/v1/dev/user/conversations";

/// Counts memories that were stored twice.
const MEMORIES_TWICE: &str = "select count(*) - count(distinct (user_id, content)) from memories";

/// Counts released runs in the process reports.
const RELEASED: &str = "select coalesce(sum(released), 0)::bigint from service_minutes";

#[tokio::test]
async fn killed_worker_is_replaced_after_each_stage_without_duplicates() {
    tokio::join!(
        killed_after("describe"),
        killed_after("extract_action_items"),
        killed_after("trigger_apps")
    );
}

async fn killed_after(stage: &str) {
    let world = World::new().await;
    let receiver = Receiver::start().await;
    let mut doomed = Process::held_after(&world.url, stage, FOR_EVER).await;
    let client = world.client(&doomed);
    client.register_webhook(&receiver.url()).await;
    let id = client.admit(GARDEN).await;
    doomed.stage_done(stage).await;
    doomed.kill().await;

    let second = Process::outliving(&world.url, &[]).await;

    assert_delivered_and_stored_once(&world.client(&second), &id, &receiver).await;
    assert_eq!(world.count(MEMORIES_TWICE).await, 0);
    let job = binary::the_job(&world.url);
    assert_eq!((&job["attempts"], &job["crashes"]), (&json!(0), &json!(1)), "after {stage}: {job}");
}

#[tokio::test]
async fn frozen_worker_writes_nothing_when_it_resumes() {
    let world = World::new().await;
    let receiver = Receiver::start().await;
    let mut frozen = Process::held_after(&world.url, "describe", 8).await;
    let client = world.client(&frozen);
    client.register_webhook(&receiver.url()).await;
    let id = client.admit(GARDEN).await;
    frozen.stage_done("describe").await;
    frozen.signal(Signal::STOP);
    let second = Process::outliving(&world.url, &[]).await;
    let client = world.client(&second);
    assert_eq!(client.finished(&id).await["status"], "completed");
    let shown = client.conversation(&id).await;

    frozen.signal(Signal::CONT);

    let ended = frozen.line("run ended", |_| true).await;
    assert_eq!(ended["end"], "lost");
    assert_delivered_and_stored_once(&client, &id, &receiver).await;
    assert_eq!(client.conversation(&id).await, shown);
    assert_eq!(world.count(MEMORIES_TWICE).await, 0);
    let job = binary::the_job(&world.url);
    assert_eq!((&job["attempts"], &job["crashes"], &job["runs"]), (&json!(0), &json!(1), &json!(2)), "{job}");
    assert!(!frozen.logs().contains("\"committed\""), "{}", frozen.logs());
}

#[tokio::test]
async fn sigterm_releases_a_run_at_no_cost() {
    let world = World::new().await;
    let mut leaving = Process::held_after(&world.url, "describe", 5).await;
    let id = world.client(&leaving).admit(GARDEN).await;
    leaving.stage_done("describe").await;

    leaving.signal(Signal::TERM);

    assert!(leaving.ended().await.success(), "{}", leaving.logs());
    let job = binary::the_job(&world.url);
    assert_eq!(job["status"], "queued", "{job}");
    assert_eq!((&job["attempts"], &job["crashes"]), (&json!(0), &json!(0)), "{job}");
    assert_eq!(world.count(RELEASED).await, 1, "a run that ends while its process leaves is counted");
    assert_eq!(world.count("select count(*) from service_processes").await, 0, "it took its leave");
    let second = Process::outliving(&world.url, &[]).await;
    assert_eq!(world.client(&second).finished(&id).await["status"], "completed");
    let job = binary::the_job(&world.url);
    assert_eq!((&job["attempts"], &job["crashes"]), (&json!(0), &json!(0)), "{job}");
}

/// Its settings file is a pipe, so that it blocks in its first step until the test writes to it.
#[tokio::test]
async fn sigterm_during_start_up_exits_cleanly() {
    let world = World::new().await;
    let folder = testbed::empty_directory("early");
    let settings = folder.join("settings.toml");
    let made = Command::new("mkfifo").arg(&settings).status().await.expect("a pipe can be made");
    assert!(made.success());
    for service in ["serve", "dev"] {
        let mut starting = Command::new(binary::path());
        starting.arg("--config").arg(&settings).arg(service).env("DATABASE_URL", &world.url);
        starting.envs([("LISTEN_ADDR", "127.0.0.1:0"), ("LISTEN_ADMIN_ADDR", "127.0.0.1:0")]);
        let starting = starting.stderr(Stdio::piped()).kill_on_drop(true).spawn();
        let starting = starting.expect("the program can be started");
        let path = settings.clone();
        // It is opened when the process opens it, too.
        let written = tokio::task::spawn_blocking(move || std::fs::File::options().write(true).open(path));
        let written = timeout(PATIENCE, written).await.expect("the settings are read in time");
        let id = starting.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)).expect("it runs");

        kill_process(id, Signal::TERM).expect("a child can be signalled");

        drop(written);
        let ended = timeout(PATIENCE, starting.wait_with_output()).await.expect("it ends in time");
        let ended = ended.expect("its end can be waited for");
        let said = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(0), "{service}: {said}");
        assert!(said.contains("asked to stop") && said.contains("\"stopped\""), "{service}: {said}");
    }
    std::fs::remove_dir_all(&folder).expect("it can be removed");
}

#[tokio::test]
async fn shutdown_is_logged_and_the_second_signal_ends_it() {
    let world = World::new().await;
    // It would wait for clients for as long as this, and longer than the test for the process.
    let mut leaving = Process::serve(&world.url, &[("LISTEN_CREATE_WAIT_SECONDS", "54")]).await;
    let _slow = half_sent(&leaving.api, CREATE, world.key()).await;
    let _operator = half_sent(&leaving.admin, "/console/login", "none").await;

    leaving.signal(Signal::TERM);

    logs_its_shutdown(&leaving).await;
    leaving.signal(Signal::TERM);
    assert!(leaving.ended().await.success(), "{}", leaving.logs());
}

/// Its time to drain is longer than anybody waits here: only the second signal ends it.
#[tokio::test]
async fn drain_fails_readiness_and_serves_requests_until_the_second_signal() {
    let world = World::new().await;
    let mut leaving = Process::serve(&world.url, &[("LISTEN_DRAIN_SECONDS", "60")]).await;

    leaving.signal(Signal::TERM);

    logs_its_shutdown(&leaving).await;
    // No client was connected before: a load balancer that has not noticed yet would be refused.
    world.client(&leaving).admit(GARDEN).await;
    leaving.signal(Signal::TERM);
    assert!(leaving.ended().await.success(), "{}", leaving.logs());
    assert_eq!(binary::the_job(&world.url)["status"], "queued", "it is for another process");
}

async fn logs_its_shutdown(process: &Process) {
    let ready = format!("{}/readyz", process.admin);
    until(|| async { page(&ready).await == (StatusCode::SERVICE_UNAVAILABLE, "stopping\n".to_owned()) })
        .await;
}

#[tokio::test]
async fn unfinished_request_does_not_delay_shutdown() {
    let world = World::new().await;
    let mut leaving = Process::serve(&world.url, &[("LISTEN_CREATE_WAIT_SECONDS", "1")]).await;
    let _slow = half_sent(&leaving.api, CREATE, world.key()).await;
    let client = world.client(&leaving);
    client.finished(&client.admit(GARDEN).await).await;

    leaving.signal(Signal::TERM);

    assert!(leaving.ended().await.success(), "{}", leaving.logs());
    assert!(leaving.logs().contains("are given up"), "it was waited for: {}", leaving.logs());
}

/// A client that begins a request whose body is waited for, and never sends it.
async fn half_sent(base: &str, path: &str, key: &str) -> TcpStream {
    let mut slow = TcpStream::connect(base.strip_prefix("http://").unwrap()).await.unwrap();
    let half = format!(
        "POST {path} HTTP/1.1\r\nhost: listen\r\nauthorization: Bearer {key}\r\n\
         content-type: application/json\r\ncontent-length: 1000\r\nexpect: 100-continue\r\n\r\n"
    );
    slow.write_all(half.as_bytes()).await.unwrap();
    let mut said = [0; 25];
    slow.read_exact(&mut said).await.unwrap();
    assert_eq!(&said, b"HTTP/1.1 100 Continue\r\n\r\n");
    slow
}

/// Waits for the end of the conversation's job and its event, and looks for anything that came twice.
async fn assert_delivered_and_stored_once(client: &Client, id: &str, receiver: &Receiver) {
    assert_eq!(client.finished(id).await["status"], "completed");
    let items = client.items(id).await;
    assert!(items.len() >= 2, "{items:?}");
    assert_eq!(items.iter().collect::<BTreeSet<_>>().len(), items.len(), "{items:?}");
    receiver.posts(1).await;
    receiver.quiet().await;
    assert!(receiver.ids().values().all(|times| *times == 1), "{:?}", receiver.ids());
    let told = receiver.events();
    assert_eq!(told.get(&("conversation.completed".to_owned(), id.to_owned())), Some(&1), "{told:?}");
}

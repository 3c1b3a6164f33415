//! Workers of several shards: they share a process's slots in turn, and a task queue delivers to all of them.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};
use task_queue::Options;
use tokio::time::Instant;

use crate::installation::{Installation, User};
use crate::process::{PATIENCE, until};
use crate::queue::Queue;
use crate::shards_operated::CAUSE;
use crate::world::GARDEN;

/// A user of each of the shards.
fn one_of_each(installation: &Installation, shards: usize) -> Vec<User> {
    let mut found: Vec<User> = Vec::new();
    let mut number = 0;
    while found.len() < shards {
        let user = installation.with(format!("user-{number}"));
        number += 1;
        if found.iter().all(|known| known.shard != user.shard) {
            found.push(user);
        }
    }
    found.sort_by_key(|user| user.shard);
    found
}

fn jobs(installation: &Installation) -> Vec<Value> {
    let page = installation.printed(&["jobs", "list", "--limit", "1000", "--json"]);
    let page: Value = serde_json::from_str(&page).expect("a document");
    page["jobs"].as_array().expect("jobs").clone()
}

/// The moment at which a job was completed.
fn ended(job: &Value) -> String {
    job["updated_at"].as_str().expect("a moment").to_owned()
}

/// Most jobs of a shard that has many.
const MANY: usize = 40;
const FEW: usize = 4;

#[tokio::test]
async fn shards_with_a_long_queue_do_not_starve_others() {
    let installation = Installation::start(4, &["0-3"]);
    installation.printed(&["migrate"]);
    let users = one_of_each(&installation, 4);
    installation.printed(&[&["jobs", "pause", "finalization"][..], &CAUSE].concat());
    let settings = [("LISTEN_FINALIZATION_CONCURRENCY", "2"), ("LISTEN_RATE_PER_MINUTE", "0")];
    let process = installation.serve_with(&settings).await;
    // All that is much comes first.
    for (user, count) in users.iter().zip([MANY, FEW, FEW, FEW]) {
        for _ in 0..count {
            user.at(&process).admit(GARDEN).await;
        }
    }
    installation.printed(&[&["jobs", "resume", "finalization"][..], &CAUSE].concat());

    let begun = Instant::now();
    while jobs(&installation).iter().any(|job| job["status"] != "completed") {
        assert!(begun.elapsed() < 4 * PATIENCE, "the queue is not done");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let mut all = jobs(&installation);
    assert_eq!(all.len(), MANY + 3 * FEW);
    all.sort_by_key(ended);
    let few = |job: &&Value| job["user_id"] != json!(users[0].id);
    let last = all.iter().rposition(|job| few(&job)).expect("they are among them");
    // In turn, twelve of the others are done by the time of twice as many; one after the other, at the end.
    assert!(last < MANY, "the last of the others was number {last} of {}", all.len());
}

#[tokio::test]
async fn shards_task_queue_delivers_jobs_of_each_once() {
    let installation = Installation::start(4, &["0-1", "2-3"]);
    installation.printed(&["migrate"]);
    let users = one_of_each(&installation, 4);
    let queue = Queue::start(Options::default()).await;
    let front = installation.serve_with(&queue.handing(&[("LISTEN_ROLES", "api,reconciler")])).await;
    let worker = installation.serve_with(&queue.taking(&[("LISTEN_ROLES", "worker")])).await;
    let mut conversations = Vec::new();
    for user in &users {
        conversations.push(user.at(&front).admit(GARDEN).await);
    }
    for (user, conversation) in users.iter().zip(&conversations) {
        assert_eq!(user.at(&front).finished(conversation).await["status"], "completed", "{}", user.id);
    }
    queue.delivered(users.len()).await;
    assert!(
        queue
            .answers()
            .iter()
            .all(|(status, answer)| (*status, answer) == (200, &json!({ "status": "done" })))
    );
    let all = jobs(&installation);
    assert!(all.iter().all(|job| job["runs"] == 1), "{all:?}");
    assert!(worker.logs().contains("run started") && !front.logs().contains("run started"));
    let numbers = |jobs: &[Value]| jobs.iter().map(|job| job["job_id"].to_string()).collect::<BTreeSet<_>>();
    assert_eq!(numbers(&all).len(), users.len());

    // Of a shard that is away, what was admitted waits; the others' jobs are delivered meanwhile.
    queue.emulator.pause(true);
    let mut waiting = Vec::new();
    for user in &users {
        waiting.push(user.at(&front).admit(GARDEN).await);
    }
    until(async || queue.emulator.created() == 2 * users.len() as u64).await;
    installation.servers[1].down("immediate");
    queue.emulator.pause(false);
    let here = users.iter().zip(&waiting).filter(|(user, _)| user.shard < 2);
    for (user, conversation) in here {
        assert_eq!(user.at(&front).finished(conversation).await["status"], "completed", "{}", user.id);
    }
    installation.servers[1].up();
    let begun = Instant::now();
    for (user, conversation) in users.iter().zip(&waiting).filter(|(user, _)| user.shard >= 2) {
        let path = format!("/v1/conversations/{conversation}/finalization");
        let is_done =
            async || user.at(&front).ask(reqwest::Method::GET, &path, None).await.1["status"] == "completed";
        while !is_done().await {
            assert!(begun.elapsed() < 3 * PATIENCE, "{} is not done", user.id);
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}

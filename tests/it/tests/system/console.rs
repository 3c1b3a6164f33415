//! Operator commands: many dead letters, their cause, and a bounded replay that survives the process that works on it.

use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::binary;
use crate::process::Process;
use crate::replay::{broken, locked_model};
use crate::world::{GARDEN, World};

/// A killed executor's turn lasts 15 seconds; the rest is for a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

const DEAD: usize = 10;

#[tokio::test]
async fn bulk_replay_survives_the_death_of_its_process() {
    let world = World::new().await;
    die_many(&world).await;
    let mut processes = vec![Process::serve(&world.url, &[]).await, Process::serve(&world.url, &[]).await];
    let preview = listed(&world, &["jobs", "replay", "--code", "model_rejected", "--reason", "back", "-n"]);
    assert_eq!((&preview["jobs"], &preview["codes"]["model_rejected"]), (&json!(DEAD), &json!(DEAD)));

    let words = ["jobs", "replay", "--all", "--rate", "60", "--in-flight", "2", "--detach", "--yes"];
    let words = [&words[..], &["--reason", "the model is back", "--json"]].concat();
    let begun = binary::command(&world.url, &words);
    let started: Value = serde_json::from_slice(&begun.stdout).expect("one document");
    let id = started["replay_id"].as_str().expect("a replay has an id").to_owned();
    let said = String::from_utf8_lossy(&begun.stderr);
    assert!(said.contains(&format!("`listen replays watch {id}`")), "named as soon as it began: {said}");
    let under_way = until(&world, &id, |replay| replay["replayed"].as_i64() >= Some(2)).await;
    let executor = under_way["executor"].as_str().expect("somebody works on it").to_owned();
    let place = processes.iter().position(|process| executor.contains(&format!(":{}-", process.id())));
    processes.remove(place.expect("it is one of them")).kill().await;

    let done = until(&world, &id, |replay| replay["status"] == "done").await;
    assert_eq!(done["completed"], json!(DEAD), "{done}");
    assert_ne!(done["executor"], json!(executor), "another one went on");
    let once = "select count(*) from operator_actions where action = 'replay'";
    assert_eq!(world.count(once).await, DEAD as i64);
    let each =
        "select count(distinct job_id) from operator_actions where action = 'replay' and from_generation = 1";
    assert_eq!(world.count(each).await, DEAD as i64);
    let items = listed(&world, &["replays", "show", &id]);
    assert!(items["list"].as_array().expect("a list").iter().all(|item| item["status"] == "completed"));
    assert_eq!(listed(&world, &["verify"])["ok"], json!(true));
}

#[tokio::test]
async fn every_outcome_has_its_exit_code() {
    let world = World::new().await;
    die_many(&world).await;
    let job = binary::jobs(&world.url)[0]["job_id"].as_str().expect("a job has an id").to_owned();
    let ends = |words: &[&str]| binary::command(&world.url, words).status.code();
    assert_eq!(ends(&["jobs", "show", "fj_nobody"]), Some(3));
    assert_eq!(ends(&["jobs", "why", &job]), Some(0));
    assert_eq!(ends(&["jobs", "replay", "--all", "--reason", "no terminal"]), Some(2), "nobody can be asked");
    assert_eq!(ends(&["jobs", "replay", "--reason", "no filter", "--yes"]), Some(2));
    assert_eq!(ends(&["jobs", "replay", &job]), Some(2), "a reason is required");
    assert_eq!(ends(&["jobs", "replay", &job, "--reason", "fixed"]), Some(0));
    assert_eq!(ends(&["jobs", "replay", &job, "--reason", "fixed"]), Some(4), "it is queued");
    assert_eq!(ends(&["jobs", "pause", "--reason", "a look"]), Some(0));
    assert_eq!(listed(&world, &["jobs", "why", &job])["guard"], "paused");
    assert_eq!(ends(&["jobs", "resume", "--reason", "looked"]), Some(0));
    assert_eq!(ends(&["doctor"]), Some(1), "nobody works");
    assert_eq!(ends(&["verify"]), Some(0));
    let settled = listed(&world, &["jobs", "dismiss", "--all", "--yes", "--reason", "of no use"]);
    assert_eq!(settled["dismissed"], json!(DEAD - 1));
    // The dismissals are one row: an order by filter.
    let actions = &listed(&world, &["audit", "list"])["actions"];
    assert_eq!(actions.as_array().map(Vec::len), Some(4), "{actions}");
    world.count("update finalization_totals set jobs = jobs + 1 where stripe = 0 and status = 'completed' returning 1::bigint").await;
    assert_eq!(ends(&["verify"]), Some(1));
    assert_eq!(ends(&["verify", "--fix-totals"]), Some(2), "a reason is required");
    assert_eq!(ends(&["verify", "--fix-totals", "--reason", "a test"]), Some(0));
    assert_eq!(ends(&["man"]), Some(0));
    assert_eq!(ends(&["webhooks", "show", "--user", "u1", "none"]), Some(3));
}

#[tokio::test]
async fn doctor_reports_a_running_service_as_healthy() {
    let world = World::new().await;
    let process = Process::serve(&world.url, &[]).await;
    let id = world.client(&process).admit(GARDEN).await;
    world.client(&process).finished(&id).await;
    let begun = Instant::now();
    loop {
        let found = listed(&world, &["doctor"]);
        if found["ok"] == json!(true) {
            break;
        }
        assert!(begun.elapsed() < PATIENCE, "{found}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let job = binary::the_job(&world.url);
    let shown = listed(&world, &["jobs", "show", job["job_id"].as_str().expect("a job has an id")]);
    let verbs: Vec<&Value> =
        shown["timeline"].as_array().expect("edges").iter().map(|edge| &edge["verb"]).collect();
    assert_eq!(verbs, ["claim", "complete"]);
    assert!(shown["timeline"][1]["stage_milliseconds"]["describe"].is_u64(), "{shown}");
}

/// Dead letters of one cause: a model that refuses every key.
async fn die_many(world: &World) {
    let model = locked_model().await;
    let mut broken = Process::serve(&world.url, &broken(&model.base_url())).await;
    let client = world.client(&broken);
    for _ in 0..DEAD {
        let id = client.admit(GARDEN).await;
        assert_eq!(client.finished(&id).await["status"], "dead_letter");
    }
    // It signs off, so that it does not count as alive.
    broken.signal(Signal::TERM);
    broken.ended().await;
}

/// One JSON document, whatever the exit code.
fn listed(world: &World, words: &[&str]) -> Value {
    let output = binary::command(&world.url, &[words, &["--json"]].concat());
    let text = String::from_utf8_lossy(&output.stdout);
    let complaint = String::from_utf8_lossy(&output.stderr);
    serde_json::from_str(&text).unwrap_or_else(|_| panic!("{words:?} answered {text}\n{complaint}"))
}

async fn until(world: &World, id: &str, wanted: impl Fn(&Value) -> bool) -> Value {
    let begun = Instant::now();
    loop {
        let replay = listed(world, &["replays", "show", id, "--limit", "0"]);
        if wanted(&replay) {
            return replay;
        }
        assert!(begun.elapsed() < PATIENCE, "the replay is still {replay}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

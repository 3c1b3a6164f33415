//! Counted model calls: no stage is paid for twice, and an outage costs no attempt.

use std::collections::BTreeMap;

use mock_model::{Counts, Fault, Kind, Mock, Options};
use serde_json::{Value, json};

use crate::binary;
use crate::client::page;
use crate::process::Process;
use crate::world::{GARDEN, World};

/// Longer than any test waits: such a run never goes on by itself.
const FOR_EVER: &str = "600";

/// Stages that ask the model server about GARDEN. Noise is judged by the built-in engine.
const PAID: [&str; 5] = ["describe", "extract_action_items", "extract_memories", "embed", "trigger_apps"];

/// Those of them that one reading of the talk answers.
const READ: [&str; 3] = ["describe", "extract_action_items", "extract_memories"];

/// Settings of a process that asks `mock` for everything.
fn asking(mock: &Mock) -> Vec<(&'static str, String)> {
    vec![
        ("LISTEN_TEXT_ENGINE", "openai".to_owned()),
        ("LISTEN_OPENAI_BASE_URL", mock.base_url()),
        ("LISTEN_OPENAI_MODEL", "mock".to_owned()),
        ("LISTEN_OPENAI_EMBED_MODEL", "mock-vectors".to_owned()),
        ("LISTEN_OPENAI_API_KEY", "sk-service".to_owned()),
    ]
}

/// One that goes on with what another one left.
async fn outliving(world: &World, mock: &Mock) -> Process {
    Process::outliving(&world.url, &borrowed(&asking(mock))).await
}

async fn serve(world: &World, settings: &[(&'static str, String)]) -> Process {
    Process::serve(&world.url, &borrowed(settings)).await
}

fn borrowed<'a>(settings: &'a [(&'static str, String)]) -> Vec<(&'a str, &'a str)> {
    settings.iter().map(|(name, value)| (*name, value.as_str())).collect()
}

/// The stages of the one job that have a checkpoint.
fn recorded(world: &World) -> Vec<String> {
    let job = binary::the_job(&world.url);
    let id = job["job_id"].as_str().expect("a job has an id");
    let shown = binary::printed(&world.url, &["jobs", "show", id, "--json"]);
    let shown: Value = serde_json::from_str(&shown).expect("JSON");
    let stages = shown["checkpoints"].as_array().expect("a list").iter();
    stages.map(|stage| stage.as_str().expect("a name").to_owned()).collect()
}

#[tokio::test]
async fn committed_checkpoint_is_never_requested_from_the_model_again() {
    tokio::join!(
        killed_after("survey"),
        killed_after("describe"),
        killed_after("extract_action_items"),
        killed_after("extract_memories"),
        killed_after("embed"),
        killed_after("trigger_apps"),
    );
}

async fn killed_after(stage: &str) {
    let mock = Mock::start(Options::default()).await.expect("a port is free");
    let world = World::new().await;
    let mut settings = asking(&mock);
    settings.push(("LISTEN_DEMO_PAUSE_AFTER", format!("{stage}={FOR_EVER}")));
    let mut doomed = serve(&world, &settings).await;
    let id = world.client(&doomed).admit(GARDEN).await;
    doomed.stage_done(stage).await;
    doomed.kill().await;
    let paid_before: BTreeMap<String, Counts> = mock.counts();
    let recorded = recorded(&world);
    assert!(recorded.iter().any(|name| name == stage), "{stage} is recorded before the hold: {recorded:?}");

    let second = outliving(&world, &mock).await;

    assert_eq!(world.client(&second).finished(&id).await["status"], "completed");
    let paid = mock.counts();
    for name in PAID {
        let (before, after) = (paid_before.get(name).map_or(0, |sums| sums.calls), paid[name].calls);
        // One reading answers for three stages; once it is recorded, none of them is paid for again.
        let is_read = recorded.iter().any(|stage| stage == "survey") && READ.contains(&name);
        if is_read || recorded.iter().any(|stage| stage == name) {
            assert_eq!(before, after, "killed after {stage}: {name} was recorded, and asked again");
        }
        assert!((1..=2).contains(&after), "killed after {stage}: {name} was asked {after} times");
    }
    let job = binary::the_job(&world.url);
    assert_eq!((&job["attempts"], &job["crashes"]), (&json!(0), &json!(1)), "after {stage}: {job}");
}

#[tokio::test]
async fn kill_during_a_model_call_costs_at_most_one_more_call() {
    let mock = Mock::start(Options::default()).await.expect("a port is free");
    mock.fault(Fault::once(Kind::Slow { millis: 30_000 }).of("embed"));
    let world = World::new().await;
    let mut settings = asking(&mock);
    settings.push(("LISTEN_DEMO_PAUSE_AFTER", format!("describe={FOR_EVER}")));
    let mut doomed = serve(&world, &settings).await;
    let id = world.client(&doomed).admit(GARDEN).await;
    doomed.stage_done("describe").await;
    doomed.kill().await;

    let second = outliving(&world, &mock).await;

    assert_eq!(world.client(&second).finished(&id).await["status"], "completed");
    let paid = mock.counts();
    let calls = PAID.map(|stage| (stage, paid[stage].calls));
    assert_eq!(paid["describe"].calls, 1, "{calls:?}");
    assert_eq!(paid["embed"].calls, 2, "{calls:?}");
}

#[tokio::test]
async fn job_records_the_cost_and_engine_of_its_calls() {
    let mock = Mock::start(Options::default()).await.expect("a port is free");
    // Paid for, and good for nothing: the first run records no checkpoint of it.
    mock.fault(Fault::once(Kind::WrongSchema).of("embed"));
    let world = World::new().await;
    let mut process = serve(&world, &asking(&mock)).await;
    let client = world.client(&process);
    let id = client.admit(GARDEN).await;
    process.line("run ended", |line| line["end"] == "failed").await;
    world.make_all_due().await;
    assert_eq!(client.finished(&id).await["status"], "completed");

    let job = binary::the_job(&world.url);
    let job = job["job_id"].as_str().expect("a job has an id");
    let shown = binary::printed(&world.url, &["jobs", "show", job, "--json"]);
    let shown: Value = serde_json::from_str(&shown).expect("JSON");

    assert_eq!(shown["engine"], format!("openai:mock@{}/p4", mock.addr()));
    let calls = shown["model_calls"].as_array().expect("a list");
    let of = |epoch: i64, stage: &str| {
        calls.iter().find(|one| one["epoch"] == epoch && one["stage"] == stage).unwrap_or(&Value::Null)
    };
    assert_eq!(of(1, "embed")["calls"], 1, "an answer that was refused was asked for: {shown}");
    assert_eq!(of(2, "embed")["calls"], 1, "{shown}");
    assert_eq!(of(2, "embed")["engine"], format!("openai:mock-vectors@{}", mock.addr()));
    assert!(of(2, "survey").is_null(), "what was recalled was not paid for again: {shown}");
    // The survey is one call, which the mock counts for each of its stages.
    let paid = mock.counts();
    let survey = of(1, "survey");
    assert_eq!(survey["prompt_tokens"], paid["describe"].prompt_tokens, "{shown}");
    assert_eq!(survey["completion_tokens"], paid["describe"].completion_tokens, "{shown}");
    let words = binary::printed(&world.url, &["jobs", "show", job]);
    assert!(words.contains("model calls") && words.contains("tokens in"), "{words}");
}

#[tokio::test]
async fn model_outage_costs_a_job_no_attempt() {
    let mock = Mock::start(Options::default()).await.expect("a port is free");
    mock.fault(Fault::always(Kind::Status { status: 503 }));
    let world = World::new().await;
    let mut process = serve(&world, &asking(&mock)).await;
    let id = world.client(&process).admit(GARDEN).await;

    process.line("run ended", |line| line["end"] == "released").await;

    let job = binary::the_job(&world.url);
    assert_eq!((&job["status"], &job["attempts"], &job["runs"]), (&json!("queued"), &json!(0), &json!(0)));
    let (_, metrics) = page(&format!("{}/metrics", process.admin)).await;
    assert!(metrics.contains("listen_engine_circuit_open 1"), "{metrics}");
    assert!(!process.logs().contains("provider text"), "{}", process.logs());
    process.kill().await;
    // Another process has a circuit of its own, and takes the job when its time has come.
    mock.mend();
    let second = serve(&world, &asking(&mock)).await;
    world.make_all_due().await;
    assert_eq!(world.client(&second).finished(&id).await["status"], "completed");
    assert_eq!(binary::the_job(&world.url)["attempts"], json!(0));
}

#[tokio::test]
async fn model_server_is_called_through_the_environments_proxy() {
    // The mock answers requests in the proxy's form, too: it looks at the path alone.
    let mock = Mock::start(Options::default()).await.expect("a port is free");
    let world = World::new().await;
    let mut settings = asking(&mock);
    settings.push(("LISTEN_OPENAI_BASE_URL", "http://models.invalid/v1".to_owned()));
    settings.push(("http_proxy", format!("http://{}", mock.addr())));
    let process = serve(&world, &settings).await;
    let client = world.client(&process);

    let id = client.admit(GARDEN).await;

    assert_eq!(client.finished(&id).await["status"], "completed");
    assert_eq!(mock.counts()["describe"].calls, 1);
    let (_, status) = page(&format!("{}/v1/status", process.api)).await;
    assert!(status.contains("\"describe\":\"openai:mock@models.invalid/p4\""), "{status}");
    assert!(status.contains("\"embed\":\"openai:mock-vectors@models.invalid\""), "{status}");
    assert!(!status.contains("sk-service"), "{status}");
}

//! BYOK on the real binary: which key each call uses, and that no key is stored or shown.

use std::collections::BTreeSet;

use mock_model::{Mock, Options};
use reqwest::Method;
use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::binary::{command, printed, the_job};
use crate::client::{Client, page};
use crate::process::{PATIENCE, Process};
use crate::world::{GARDEN, World};

const SERVICE: &str = "sk-service-kolibri";
const REFUSED: &str = "sk-refused-pirol";
const GOOD: &str = "sk-user-zaunkoenig";
const BIRDS: [&str; 3] = ["kolibri", "pirol", "zaunkoenig"];

/// A model server that refuses the key [`REFUSED`].
async fn model() -> Mock {
    let keys = [SERVICE, GOOD].map(str::to_owned).into();
    Mock::start(Options { keys, ..Options::default() }).await.expect("a port is free")
}

/// Settings of a process that asks the model server at `base`, with a key of the service's own.
fn asking(base: &str) -> Vec<(&str, &str)> {
    vec![
        ("LISTEN_TEXT_ENGINE", "openai"),
        ("LISTEN_OPENAI_BASE_URL", base),
        ("LISTEN_OPENAI_API_KEY", SERVICE),
        ("LISTEN_OPENAI_MODEL", "mock"),
        ("LISTEN_OPENAI_EMBED_MODEL", "mock-vectors"),
    ]
}

/// The keys of the calls since the last question, each once.
fn keys(model: &Mock) -> BTreeSet<String> {
    let keys = model.calls().into_iter().filter_map(|call| call.key).collect();
    model.forget();
    keys
}

/// Polls until the newest job of the conversation satisfies `wanted`.
async fn until(client: &Client, id: &str, wanted: impl Fn(&Value) -> bool) -> Value {
    let begun = Instant::now();
    loop {
        let path = format!("/v1/conversations/{id}/finalization");
        let (_, poll) = client.ask(Method::GET, &path, None).await;
        if wanted(&poll) {
            return poll;
        }
        assert!(begun.elapsed() < PATIENCE, "the job is still {poll}");
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
}

fn is_parked(poll: &Value) -> bool {
    poll["status"] == "blocked_byok"
}

/// Where bytes rest, and where they are shown: none may hold a key.
async fn assert_no_key_leaked(world: &World, processes: &[&Process], answers: &[String]) {
    let mut places = vec![("the tables", world.dump_all().await), ("the answers", answers.concat())];
    for process in processes {
        places.push(("a log", process.logs()));
        places.push(("the metrics", page(&format!("{}/metrics", process.admin)).await.1));
    }
    for (place, text) in places {
        assert!(!text.is_empty(), "{place}");
        for bird in BIRDS {
            let in_hex: String = bird.bytes().map(|byte| format!("{byte:02x}")).collect();
            assert!(!text.contains(bird) && !text.contains(&in_hex), "{bird} is in {place}: {text}");
        }
    }
}

#[tokio::test]
async fn byok_every_call_uses_the_payers_key_and_no_key_is_stored() {
    let (world, model) = (World::new().await, model().await);
    let base = model.base_url();
    let settings = [&asking(&base)[..], &[("LISTEN_LOG", "trace")]].concat();
    let service = Process::serve(&world.url, &settings).await;
    printed(&world.url, &["users", "create", "--id", "u2"]);
    let other = Client::new(&service.api, &printed(&world.url, &["keys", "create", "--user", "u2"]));
    printed(&world.url, &["users", "set", "u1", "--requires-byok", "true"]);
    let client = world.client(&service);

    let theirs = other.admit(GARDEN).await;
    assert_eq!(other.finished(&theirs).await["outcome"], "kept");
    assert_eq!(keys(&model), [SERVICE.to_owned()].into(), "who brings no key is served with ours");

    let id = client.admit(GARDEN).await;
    until(&client, &id, is_parked).await;
    let job = jobs_of(&world, "blocked_byok");
    let replay = command(&world.url, &["jobs", "replay", &job, "--reason", "trying"]);
    let words = String::from_utf8_lossy(&replay.stderr).into_owned();
    assert_eq!(replay.status.code(), Some(4), "{words}");
    assert!(words.contains("its user's own keys"), "{words}");

    client.with_model_key(REFUSED).finalize(&id).await;
    let parked = until(&client, &id, |poll| is_parked(poll) && poll["failure_code"] != json!(null)).await;
    assert_eq!((&parked["failure_code"], &parked["terminal"]), (&json!("byok_key_rejected"), &json!(false)));
    assert_eq!(keys(&model), [REFUSED.to_owned()].into(), "no other key was tried instead");

    client.with_model_key(GOOD).finalize(&id).await;
    let done = client.finished(&id).await;
    assert_eq!((&done["outcome"], &done["task_retry_count"]), (&json!("kept"), &json!(0)));
    let title = client.conversation(&id).await["structured"]["title"].clone();
    assert!(title.as_str().is_some_and(|title| title.contains("the garden")), "{title}");
    assert_eq!(keys(&model), [GOOD.to_owned()].into());

    let text = json!({ "text": GARDEN.join("\n") });
    let create = "/v1/dev/user/conversations";
    let (_, created) = client.with_model_key(GOOD).ask(Method::POST, create, Some(&text)).await;
    assert_eq!(created["status"], "completed", "a create waits for its run: {created}");
    assert_eq!(keys(&model), [GOOD.to_owned()].into());

    let mut answers = vec![words];
    for (key, body) in [("sk zaunkoenig", &text), (GOOD, &json!({ "text": "" }))] {
        let (status, refusal) = client.with_model_key(key).ask(Method::POST, create, Some(body)).await;
        assert_eq!(status, 422, "{refusal}");
        answers.push(refusal.to_string());
    }
    assert_no_key_leaked(&world, &[&service], &answers).await;
}

/// The one job of that status.
fn jobs_of(world: &World, status: &str) -> String {
    let list = printed(&world.url, &["jobs", "list", "--json", "--status", status]);
    let page: Value = serde_json::from_str(&list).expect("a document");
    let jobs = page["jobs"].as_array().expect("a list");
    assert_eq!(jobs.len(), 1, "{list}");
    jobs[0]["job_id"].as_str().expect("a job has an id").to_owned()
}

#[tokio::test]
async fn byok_job_of_a_dead_process_is_parked_until_keys_return() {
    let (world, model) = (World::new().await, model().await);
    let base = model.base_url();
    // No worker and no reconciler: keyed runs, and the watch over their leases, are the API's own.
    let mut settings = asking(&base);
    settings.extend([("LISTEN_ROLES", "api"), ("LISTEN_DEMO_PAUSE_AFTER", "describe=60")]);
    let mut doomed = Process::serve(&world.url, &settings).await;
    let id = world.client(&doomed).ingest(GARDEN).await;
    world.client(&doomed).with_model_key(GOOD).finalize(&id).await;
    doomed.stage_done("describe").await;
    settings.pop();
    let next = Process::outliving(&world.url, &settings).await;
    let client = world.client(&next);
    doomed.kill().await;

    until(&client, &id, is_parked).await;
    assert_eq!(the_job(&world.url)["crashes"], 1);
    client.with_model_key(GOOD).finalize(&id).await;

    let done = client.finished(&id).await;
    assert_eq!((&done["outcome"], &done["task_retry_count"]), (&json!("kept"), &json!(1)));
    assert_eq!(keys(&model), [GOOD.to_owned()].into());
    assert_eq!(world.count("select count(*) from embeddings").await, 1);
    assert_no_key_leaked(&world, &[&next], &[done.to_string()]).await;
}

#[tokio::test]
async fn byok_shutdown_parks_the_run_at_no_cost() {
    let (world, model) = (World::new().await, model().await);
    let base = model.base_url();
    let mut settings = asking(&base);
    settings.extend([("LISTEN_ROLES", "api"), ("LISTEN_DEMO_PAUSE_AFTER", "describe=5")]);
    let mut stopping = Process::serve(&world.url, &settings).await;
    let id = world.client(&stopping).ingest(GARDEN).await;
    world.client(&stopping).with_model_key(GOOD).finalize(&id).await;
    stopping.stage_done("describe").await;
    stopping.signal(Signal::TERM);
    assert!(stopping.ended().await.success());

    let job = the_job(&world.url);
    assert_eq!(
        (&job["status"], &job["attempts"], &job["crashes"]),
        (&json!("blocked_byok"), &json!(0), &json!(0))
    );
}

#[tokio::test]
async fn byok_run_is_counted_once_with_and_without_a_worker() {
    let (world, model) = (World::new().await, model().await);
    let base = model.base_url();
    for (counted, roles) in [(1, "api"), (2, "api,worker,reconciler")] {
        let settings = [&asking(&base)[..], &[("LISTEN_ROLES", roles)]].concat();
        let mut service = Process::serve(&world.url, &settings).await;
        let client = world.client(&service);
        let id = client.ingest(GARDEN).await;
        client.with_model_key(GOOD).finalize(&id).await;
        assert_eq!(client.finished(&id).await["outcome"], "kept");
        service.signal(Signal::TERM);
        assert!(service.ended().await.success());

        let completed = "select coalesce(sum(completed), 0)::bigint from service_minutes";
        assert_eq!(world.count(completed).await, counted, "{roles}");
    }
}

//! The dispatch mode `cloud_tasks`: finalize, hand over, deliver, run, poll; lost and duplicate tasks.

use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};
use task_queue::{Fault, Kind, Options};
use tokio::time::Instant;

use crate::binary;
use crate::client::{Client, page};
use crate::process::Process;
use crate::queue::{Queue, deliver, dispatch, send, slow};
use crate::replay::{broken, locked_model};
use crate::world::{GARDEN, World};

/// Roles of a process that takes requests and hands over.
const FRONT: (&str, &str) = ("LISTEN_ROLES", "api,reconciler");
const WORKER: (&str, &str) = ("LISTEN_ROLES", "worker");

/// Every job of the database is completed, in that many runs.
pub(crate) async fn all_completed(world: &World, jobs: usize, patience: Duration) {
    let begun = Instant::now();
    let open = "select count(*) from finalization_jobs where status <> 'completed'";
    while world.count(open).await > 0 {
        assert!(
            begun.elapsed() < patience,
            "{}",
            world.dump("select j::text from finalization_jobs j where status <> 'completed'").await
        );
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let all = world.count("select count(*) from finalization_jobs").await;
    assert_eq!(usize::try_from(all).expect("a count"), jobs);
}

pub(crate) async fn admit(client: &Client, jobs: usize) {
    for _ in 0..jobs {
        client.admit(GARDEN).await;
    }
}

#[tokio::test]
async fn task_queue_finalizes_a_conversation() {
    let world = World::new().await;
    let queue = Queue::start(Options::default()).await;
    let front = Process::serve(&world.url, &queue.handing(&[FRONT])).await;
    let worker = Process::serve(&world.url, &queue.taking(&[WORKER])).await;
    let client = world.client(&front);
    queue.emulator.pause(true);

    let id = client.admit(GARDEN).await;
    crate::process::until(async || queue.emulator.created() == 1).await;
    let task = queue.emulator.tasks().remove(0);
    queue.emulator.pause(false);

    assert_eq!(client.finished(&id).await["status"], "completed");
    queue.delivered(1).await;
    assert_eq!(queue.answers(), [(200, json!({ "status": "done" }))]);
    assert!(worker.logs().contains("run started") && !front.logs().contains("run started"));
    let job = binary::the_job(&world.url);
    let request = &task["httpRequest"];
    assert_eq!(request["httpMethod"], "POST");
    assert_eq!(request["oidcToken"]["audience"], crate::queue::AUDIENCE);
    assert_eq!(task["dispatchDeadline"], "1500s");
    assert!(task["name"].as_str().expect("a name").ends_with("-g1-d1"), "{task}");
    assert!(!task["name"].as_str().expect("a name").contains(job["job_id"].as_str().expect("an id")));
    assert_eq!((&job["runs"], &job["attempts"]), (&json!(1), &json!(0)), "{job}");
    let handed =
        "select count(*) from finalization_jobs where handed_dispatch = dispatch and handed_at is not null";
    assert_eq!(world.count(handed).await, 1);
    let (_, metrics) = page(&format!("{}/metrics", front.admin)).await;
    assert!(metrics.contains("listen_tasks_created_total{outcome=\"created\"} 1"), "{metrics}");
}

#[tokio::test]
async fn task_queue_outage_finalize_is_200_and_jobs_complete_later() {
    let world = World::new().await;
    let queue = Queue::start(Options::default()).await;
    let process = Process::serve(&world.url, &queue.taking(&[])).await;
    queue.emulator.fault(Fault::always(Kind::CreateStatus { status: 503, retry_after: None }));

    admit(&world.client(&process), 6).await;
    crate::process::until(async || failed_creates(&process).await >= 6).await;
    assert_eq!(queue.emulator.created(), 0);
    assert_eq!(world.count("select count(*) from finalization_jobs where status = 'queued'").await, 6);
    queue.emulator.mend();
    // The first one after that is deferred once more, for as long as the queue asks.
    queue.emulator.fault(Fault::times(Kind::CreateStatus { status: 429, retry_after: Some(1) }, 1));

    all_completed(&world, 6, Duration::from_secs(60)).await;
    assert_eq!(
        world.count("select count(*) from finalization_jobs where runs <> 1 or generation <> 1").await,
        0
    );
}

async fn failed_creates(process: &Process) -> u64 {
    let (_, metrics) = page(&format!("{}/metrics", process.admin)).await;
    let name = "listen_fallback_total{component=\"pusher\",reason=\"enqueue_failed\"} ";
    let line = metrics.lines().find_map(|line| line.strip_prefix(name)).expect("it is always there");
    line.parse().expect("a count")
}

#[tokio::test]
async fn task_queue_lost_duplicate_and_late_tasks_run_once() {
    let world = World::new().await;
    let queue = Queue::start(Options::default()).await;
    let stale = [("LISTEN_FINALIZATION_STALE_SECONDS", "2")];
    let process = Process::serve(&world.url, &queue.taking(&stale)).await;
    queue.emulator.fault(Fault::times(Kind::Lose, 3));
    queue.emulator.fault(Fault::times(Kind::Double, 3));
    queue.emulator.fault(Fault::times(Kind::Late { millis: 4_000 }, 2));

    admit(&world.client(&process), 8).await;

    all_completed(&world, 8, Duration::from_secs(60)).await;
    assert_eq!(
        world.count("select count(*) from finalization_jobs where runs <> 1 or attempts > 0").await,
        0
    );
    // Only what was lost was dispatched anew: what came late still waited.
    assert_eq!(world.count("select count(*) from finalization_jobs where generation = 2").await, 3);
    assert_eq!(world.count("select count(*) from finalization_jobs where generation > 2").await, 0);
}

#[tokio::test]
async fn task_queue_backlog_over_the_staleness_limit_drains() {
    let world = World::new().await;
    let queue = Queue::start(slow(Duration::from_millis(40))).await;
    let stale = [("LISTEN_FINALIZATION_STALE_SECONDS", "5"), ("LISTEN_RATE_PER_MINUTE", "0")];
    let process = Process::serve(&world.url, &queue.taking(&stale)).await;
    queue.emulator.pause(true);
    admit(&world.client(&process), 200).await;
    let begun = Instant::now();
    queue.emulator.pause(false);

    all_completed(&world, 200, Duration::from_secs(180)).await;

    assert!(begun.elapsed() > Duration::from_secs(5), "the backlog was longer than the limit");
    assert_eq!(world.count("select max(dispatch) from finalization_jobs").await, 1);
    assert_eq!(world.count("select count(*) from finalization_jobs where runs <> 1").await, 0);
}

#[tokio::test]
async fn task_queue_redelivers_a_run_of_a_killed_process() {
    let world = World::new().await;
    let queue = Queue::start(Options { max_attempts: 2, ..Options::default() }).await;
    let front = Process::serve(&world.url, &queue.handing(&[FRONT])).await;
    let short = [("LISTEN_FINALIZATION_LEASE_SECONDS", "3"), ("LISTEN_FINALIZATION_HEARTBEAT_SECONDS", "1")];
    let held = [&[WORKER, ("LISTEN_DEMO_PAUSE_AFTER", "describe=60")][..], &short].concat();
    let mut worker = Process::serve(&world.url, &queue.taking(&held)).await;
    let client = world.client(&front);
    let id = client.admit(GARDEN).await;
    worker.stage_done("describe").await;

    worker.kill().await;
    let _next = Process::outliving(&world.url, &queue.taking(&[WORKER])).await;

    assert_eq!(client.finished(&id).await["status"], "completed");
    let job = binary::the_job(&world.url);
    assert_eq!((&job["attempts"], &job["crashes"], &job["runs"]), (&json!(0), &json!(1), &json!(2)), "{job}");
    assert_eq!(
        world.count("select count(*) from memories").await,
        world.count("select count(distinct content) from memories").await
    );
}

#[tokio::test]
async fn task_queue_shutdown_releases_the_run_and_answers() {
    let world = World::new().await;
    let queue = Queue::start(Options::default()).await;
    let front = Process::serve(&world.url, &queue.handing(&[FRONT])).await;
    let held = [WORKER, ("LISTEN_DEMO_PAUSE_AFTER", "describe=6")];
    let mut worker = Process::serve(&world.url, &queue.taking(&held)).await;
    let client = world.client(&front);
    let id = client.admit(GARDEN).await;
    worker.stage_done("describe").await;

    worker.signal(Signal::TERM);
    queue.delivered(1).await;
    let (status, answer) = queue.answers().remove(0);
    assert_eq!((status, &answer["status"]), (200, &json!("retry")), "{answer}");
    assert!(answer["ready_at"].is_string(), "{answer}");
    worker.ended().await;
    let _next = Process::outliving(&world.url, &queue.taking(&[WORKER])).await;

    assert_eq!(client.finished(&id).await["status"], "completed");
    let job = binary::the_job(&world.url);
    assert_eq!((&job["attempts"], &job["crashes"], &job["runs"]), (&json!(0), &json!(0), &json!(1)), "{job}");
}

#[tokio::test]
async fn task_queue_run_continues_when_its_delivery_is_abandoned() {
    let world = World::new().await;
    let queue = Queue::start(Options::default()).await;
    queue.emulator.pause(true);
    let held = [("LISTEN_DEMO_PAUSE_AFTER", "describe=2")];
    let mut process = Process::serve(&world.url, &queue.taking(&held)).await;
    let client = world.client(&process);
    let id = client.admit(GARDEN).await;
    let job = binary::the_job(&world.url)["job_id"].as_str().expect("an id").to_owned();
    let (base, token, body) = (process.api.clone(), queue.token(), dispatch(&job, 1));

    let delivery = tokio::spawn(async move { send(&base, Some(&token), body).await });
    process.stage_done("describe").await;
    delivery.abort();

    assert_eq!(client.finished(&id).await["status"], "completed");
    assert_eq!(binary::the_job(&world.url)["runs"], json!(1));
}

#[tokio::test]
async fn task_queue_delivery_is_answered_before_its_deadline_and_the_run_continues() {
    let world = World::new().await;
    let queue = Queue::start(Options::default()).await;
    queue.emulator.pause(true);
    let mock = mock_model::Mock::start(mock_model::Options::default()).await.expect("a port is free");
    let url = mock.base_url();
    let settings = [
        ("LISTEN_FINALIZATION_DISPATCH_MODE", "postgres"),
        ("LISTEN_ROLES", "api"),
        ("LISTEN_FINALIZATION_RUN_TIMEOUT_SECONDS", "12"),
        ("LISTEN_FINALIZATION_LEASE_SECONDS", "10"),
        ("LISTEN_FINALIZATION_HEARTBEAT_SECONDS", "2"),
        ("LISTEN_TEXT_ENGINE", "openai"),
        ("LISTEN_OPENAI_BASE_URL", &url),
        ("LISTEN_OPENAI_MODEL", "mock"),
    ];
    // The run waits for its model until its delivery is answered, five seconds before the limit: it has these for the rest of its work.
    mock.fault(mock_model::Fault::always(mock_model::Kind::Held));
    let process = Process::serve(&world.url, &queue.taking(&settings)).await;
    let client = world.client(&process);
    let id = client.admit(GARDEN).await;
    let job = job_of(&client, &id).await;

    let (status, again, answer) = deliver(&process.api, Some(&queue.token()), dispatch(&job, 1)).await;

    mock.mend();
    assert_eq!((status.as_u16(), again, answer), (409, Some(31), json!({ "status": "leased" })));
    assert_eq!(client.finished(&id).await["status"], "completed");
    assert_eq!(binary::the_job(&world.url)["runs"], json!(1));
}

#[tokio::test]
async fn task_queue_invoker_may_deliver_in_postgres_mode() {
    let world = World::new().await;
    let queue = Queue::start(Options::default()).await;
    let postgres = ("LISTEN_FINALIZATION_DISPATCH_MODE", "postgres");
    let held = ("LISTEN_DEMO_PAUSE_AFTER", "describe=6");
    // No worker claims: the API alone runs what is delivered to it.
    let settings =
        queue.taking(&[postgres, held, ("LISTEN_ROLES", "api"), ("LISTEN_FINALIZATION_CONCURRENCY", "1")]);
    let mut process = Process::serve(&world.url, &settings).await;
    let client = world.client(&process);
    let ids = [client.admit(GARDEN).await, client.admit(GARDEN).await];
    let job = job_of(&client, &ids[0]).await;
    let other = job_of(&client, &ids[1]).await;
    let (base, token) = (process.api.clone(), queue.token());
    let ask = async |job: &str, generation| deliver(&base, Some(&token), dispatch(job, generation)).await;

    let running = tokio::spawn({
        let (base, token, body) = (base.clone(), token.clone(), dispatch(&job, 1));
        async move { deliver(&base, Some(&token), body).await }
    });
    process.stage_done("describe").await;
    let (status, again, answer) = ask(&other, 1).await;
    assert_eq!(
        (status.as_u16(), again, answer),
        (503, Some(5), json!({ "status": "busy" })),
        "the only slot is taken"
    );
    assert_eq!(running.await.expect("no panic").2, json!({ "status": "done" }));
    let rows = [
        (job.as_str(), 1, json!({ "status": "acked", "job_status": "completed" })),
        (job.as_str(), 7, json!({ "status": "dropped", "reason": "unknown_generation" })),
        ("fj_unknown", 1, json!({ "status": "dropped", "reason": "missing" })),
        (other.as_str(), 1, json!({ "status": "done" })),
    ];
    for (job, generation, expected) in rows {
        let (status, _, answer) = ask(job, generation).await;
        assert_eq!((status.as_u16(), answer), (200, expected), "{job} {generation}");
    }
}

async fn job_of(client: &Client, id: &str) -> String {
    let (_, poll) =
        client.ask(reqwest::Method::GET, &format!("/v1/conversations/{id}/finalization"), None).await;
    poll["job_id"].as_str().expect("a job has an id").to_owned()
}

#[tokio::test]
async fn task_queue_early_delivery_gets_a_retry_time() {
    let world = World::new().await;
    let queue = Queue::start(Options::default()).await;
    queue.emulator.pause(true);
    let process = Process::serve(&world.url, &queue.taking(&[])).await;
    let client = world.client(&process);
    let id = client.admit(GARDEN).await;
    let job = job_of(&client, &id).await;
    let token = queue.token();
    binary::printed(
        &world.url,
        &["jobs", "pause", "finalization", "--reason", "a test", "--operator", "ann"],
    );

    let (status, again, answer) = deliver(&process.api, Some(&token), dispatch(&job, 1)).await;

    assert_eq!((status.as_u16(), answer), (409, json!({ "status": "not_yet" })));
    assert!(again.is_some_and(|seconds| seconds >= 60), "{again:?}");
    binary::printed(
        &world.url,
        &["jobs", "resume", "finalization", "--reason", "a test", "--operator", "ann"],
    );
    let (_, _, answer) = deliver(&process.api, Some(&token), dispatch(&job, 1)).await;
    assert_eq!(answer, json!({ "status": "done" }));
}

#[tokio::test]
async fn task_queue_task_from_before_a_replay_is_stale() {
    let world = World::new().await;
    let queue = Queue::start(Options::default()).await;
    let mock = locked_model().await;
    let url = mock.base_url();
    let failing = Process::serve(&world.url, &queue.taking(&broken(&url))).await;
    let id = world.client(&failing).admit(GARDEN).await;
    let died = world.client(&failing).finished(&id).await;
    assert_eq!(died["status"], "dead_letter");
    queue.delivered(1).await;
    assert_eq!(queue.answers(), [(200, json!({ "status": "dead_letter" }))]);
    let job = died["job_id"].as_str().expect("an id").to_owned();
    let (_, _, answer) = deliver(&failing.api, Some(&queue.token()), dispatch(&job, 1)).await;
    assert_eq!(answer, json!({ "status": "dropped", "reason": "dead_letter" }));
    failing.kill().await;
    queue.emulator.pause(true);
    let mended = Process::serve(&world.url, &queue.taking(&[])).await;
    binary::printed(&world.url, &["jobs", "replay", &job, "--reason", "it is back", "--operator", "ann"]);

    let (_, _, answer) = deliver(&mended.api, Some(&queue.token()), dispatch(&job, 1)).await;
    assert_eq!(answer, json!({ "status": "dropped", "reason": "stale_generation" }));
    queue.emulator.pause(false);

    assert_eq!(world.client(&mended).finished(&id).await["status"], "completed");
    assert_eq!(binary::the_job(&world.url)["dispatch_generation"], json!(2));
}

#[tokio::test]
async fn dispatch_mode_change_keeps_waiting_jobs_in_both_directions() {
    let world = World::new().await;
    let queue = Queue::start(Options::default()).await;
    queue.emulator.pause(true);
    let postgres = ("LISTEN_FINALIZATION_DISPATCH_MODE", "postgres");
    let with_tasks = Process::serve(&world.url, &queue.taking(&[])).await;
    admit(&world.client(&with_tasks), 3).await;
    crate::process::until(async || queue.emulator.created() == 3).await;
    with_tasks.kill().await;

    // To `postgres`: the workers claim what waits, and the old tasks are acknowledged.
    let without = Process::serve(&world.url, &queue.taking(&[postgres])).await;
    all_completed(&world, 3, Duration::from_secs(60)).await;
    queue.emulator.pause(false);
    queue.delivered(3).await;
    let acked = json!({ "status": "acked", "job_status": "completed" });
    assert!(queue.answers().iter().all(|answer| *answer == (200, acked.clone())), "{:?}", queue.answers());
    without.kill().await;

    // And back: what was queued without a task gets one.
    let outbox = Process::serve(&world.url, &queue.handing(&[postgres, ("LISTEN_ROLES", "api")])).await;
    admit(&world.client(&outbox), 3).await;
    outbox.kill().await;
    let _with_tasks = Process::serve(&world.url, &queue.taking(&[])).await;
    all_completed(&world, 6, Duration::from_secs(60)).await;
    assert_eq!(world.count("select count(*) from finalization_jobs where runs <> 1").await, 0);
}

#[tokio::test]
async fn task_queue_failed_attempt_gets_a_new_task() {
    let world = World::new().await;
    let queue = Queue::start(Options::default()).await;
    let mock = locked_model().await;
    let url = mock.base_url();
    let model = [&broken(&url)[..3], &[("LISTEN_FINALIZATION_MAX_ATTEMPTS", "2")]].concat();
    let process = Process::serve(&world.url, &queue.taking(&model)).await;
    world.client(&process).admit(GARDEN).await;

    queue.delivered(1).await;

    let (status, answer): (u16, Value) = queue.answers().remove(0);
    assert_eq!((status, &answer["status"]), (200, &json!("retry")), "{answer}");
    crate::process::until(async || queue.emulator.created() == 2).await;
    let task = queue.emulator.tasks().remove(0);
    assert!(task["name"].as_str().expect("a name").ends_with("-g1-d2"), "{task}");
    let at = |value: &Value| value.as_str().expect("a time").get(..19).expect("to the second").to_owned();
    assert_eq!(at(&task["scheduleTime"]), at(&answer["ready_at"]), "not before the back-off is over");
}

//! What operators read of a job: every condition of the job page, of the lists and of an examination, each with rows
//! that nearly match beside those that do.

use chrono::Duration;
use job::{FailureCode, JobId, Outcome, Queue, Surroundings};
use ledger::{Answer, Ledger, Operation, OperatorAction, Results, Settings};
use operations::{ActionFilter, JobFilter, JobPage, Process, RunCounts};
use records::{ConversationId, UserId};

use crate::{
    three_conversations::ThreeConversations,
    world::{World, completion, process, worker},
};

fn by(operator: &str) -> OperatorAction {
    OperatorAction::new(operator, "because")
}

async fn page(world: &World, job: &JobId) -> JobPage {
    world.operations().job_page(job).await.unwrap().unwrap()
}

async fn around(world: &World, job: &JobId) -> Surroundings {
    page(world, job).await.around
}

async fn report(world: &World, process: &Process) {
    world.operations().report_process(process, &RunCounts::default()).await.unwrap();
}

async fn complete(world: &World, job: &JobId, engine: &str) {
    let run = world.claim(job).await;
    let results = Results { engine: engine.into(), ..Results::default() };
    world.ledger.complete(&completion(&run, Outcome::Kept, results)).await.unwrap();
}

async fn reprocess(three: &ThreeConversations, user: &UserId, id: &str) -> JobId {
    three.world.ledger.reprocess(user, &ConversationId::new(id), None).await.unwrap().unwrap().job_id
}

#[tokio::test]
async fn job_page_shows_the_engine_of_results_until_a_later_job_replaces_them() {
    let three = ThreeConversations::new().await;
    let (world, jobs) = (&three.world, three.admitted().await);
    for (job, engine) in jobs.iter().zip(["one", "two", "three"]) {
        complete(world, job, engine).await;
    }
    let engines = async || {
        let mut engines = Vec::new();
        for job in &jobs {
            engines.push(page(world, job).await.engine.unwrap_or_default());
        }
        engines
    };
    assert_eq!(engines().await, ["one", "two", "three"]);
    // Bob's `c` and Ann's `d` are reprocessed; Ann's `c` is being reprocessed.
    for (user, id) in [(&three.bob, "c"), (&world.ann, "d")] {
        let job = reprocess(&three, user, id).await;
        complete(world, &job, "new").await;
        assert_eq!(page(world, &job).await.engine.as_deref(), Some("new"));
    }
    let under_way = reprocess(&three, &world.ann, "c").await;
    assert_eq!(engines().await, ["one", "", ""]);
    let under_way = page(world, &under_way).await;
    assert_eq!((under_way.engine, under_way.history.len()), (None, 0), "it made nothing yet");
    assert_eq!(page(world, &jobs[0]).await.history.len(), 2, "its own transitions");
}

#[tokio::test]
async fn job_page_is_read_again_when_the_job_changes_meanwhile() {
    let world = World::new().await;
    let job = world.admitted("c").await;
    let moved = "lock table operator_actions in access exclusive mode; \
        update finalization_jobs set version = version + 7";
    let page = world.database.overtaken_by(moved, world.operations().job_page(&job)).await.unwrap().unwrap();
    assert_eq!(page.view.version, world.view(&job).await.version);
}

#[tokio::test]
async fn job_page_shows_superseded_and_deleted_of_its_own_conversation() {
    let three = ThreeConversations::new().await;
    let jobs = three.admitted().await;
    let world = &three.world;
    let known = async || {
        let mut known = Vec::new();
        for job in &jobs {
            let around = around(world, job).await;
            known.push((around.superseded, around.conversation_gone));
        }
        known
    };
    assert_eq!(known().await, [(false, false); 3]);
    world.run("insert into finalization_admissions values ('bob', 'c', 2, 'fj_later', now())").await;
    assert_eq!(known().await, [(false, false), (false, false), (true, false)]);
    world.run("insert into finalization_admissions values ('ann', 'd', 2, 'fj_later too', now())").await;
    assert_eq!(known().await, [(false, false), (true, false), (true, false)]);
    world.run("delete from conversations where user_id = 'bob' or conversation_id = 'd'").await;
    assert_eq!(known().await, [(false, false), (true, true), (true, true)]);
    world
        .run(
            "delete from conversations; insert into conversations (user_id, conversation_id, created_at, \
        updated_at, started_at, finished_at, language, source, status) \
        select user_id, conversation_id, now(), now(), now(), now(), 'en', 'phone', 'processing' \
        from finalization_jobs where user_id = 'bob' or conversation_id = 'd'",
        )
        .await;
    assert_eq!(known().await, [(false, true), (true, false), (true, false)]);
}

#[tokio::test]
async fn job_page_counts_live_processes_without_the_silent_lease_holder() {
    let world = World::new().await;
    let job = world.admitted("c").await;
    let other = Process { finalization_slots: 5, ..process("host:2", 2) };
    report(&world, &process("host:1", 1)).await;
    report(&world, &other).await;
    let counted = async || {
        let around = around(&world, &job).await;
        (around.living, around.slots)
    };
    assert_eq!(counted().await, (2, 3), "the slots of its queue");
    report(&world, &Process { stopping: true, ..other.clone() }).await;
    assert_eq!(counted().await, (1, 1));
    world
        .run("update service_processes set seen_at = now() - interval '1 minute' where process_id = 'host:1'")
        .await;
    assert_eq!(counted().await, (0, 0));
    report(&world, &other).await;
    assert_eq!(counted().await, (1, 2));
    let generation = world.job(&job).await.generation;
    report(&world, &process("host:1", 1)).await;
    world.ledger.claim_delivery(&job, generation, &worker("host:1/creation")).await.unwrap();
    assert_eq!(counted().await, (2, 3));
    world.run("update service_processes set seen_at = now() - interval '12 seconds'").await;
    assert_eq!(counted().await, (1, 2), "the lease holder was silent for too long to count");
    let around = around(&world, &job).await;
    assert!(around.holder_seen_at.is_some() && !around.holder_stopping);
}

#[tokio::test]
async fn job_page_shows_whether_the_lease_holder_is_stopping() {
    let world = World::new().await;
    let job = world.admitted("c").await;
    let generation = world.job(&job).await.generation;
    world.ledger.claim_delivery(&job, generation, &worker("host:1/creation")).await.unwrap();
    report(&world, &Process { stopping: true, ..process("host:2", 1) }).await;
    let holder = async || {
        let around = around(&world, &job).await;
        (around.holder_seen_at.is_some(), around.holder_stopping)
    };
    assert_eq!(holder().await, (false, false));
    report(&world, &process("host:1", 1)).await;
    assert_eq!(holder().await, (true, false));
    report(&world, &Process { stopping: true, ..process("host:1", 1) }).await;
    assert_eq!(holder().await, (true, true));
}

#[tokio::test]
async fn job_page_counts_pauses_and_leases_of_its_own_queue() {
    let world = World::new().await;
    let (job, other) = (world.admitted("c").await, world.deferred("d").await);
    let other = world.ledger.finalize(&world.ann, &other, None, None).await.unwrap().unwrap().job.unwrap();
    report(&world, &process("host:1", 4)).await;
    assert!(world.operations().pause(Queue::Finalization, &by("olga")).await.unwrap());
    assert_eq!(around(&world, &job).await.paused, None);
    assert!(world.operations().pause(Queue::Creation, &by("pia")).await.unwrap());
    assert_eq!(around(&world, &job).await.paused.unwrap().0, "pia");
    assert_eq!(around(&world, &other).await.paused.unwrap().0, "olga");
    for queue in [Queue::Finalization, Queue::Creation] {
        assert!(world.operations().resume(queue, &by("olga")).await.unwrap());
    }
    // Each queue has one valid lease; one lease has expired, and one is of a run with a user's own keys.
    world.claim(&other).await;
    for id in ["e", "f", "g"] {
        world.claimed(id).await;
    }
    world
        .run(
            "update finalization_jobs set reconcile_after_at = now() - interval '1 minute' where conversation_id = 'f'; \
             update finalization_jobs set lease_worker = 'host:1/keyed' where conversation_id = 'g'",
        )
        .await;
    assert_eq!((around(&world, &job).await.busy, around(&world, &other).await.busy), (1, 1));
}

#[tokio::test]
async fn job_page_counts_the_jobs_ahead_in_its_own_queue() {
    let world = World::new().await;
    let mut jobs = Vec::new();
    for id in ["a", "b", "c"] {
        jobs.push(world.admitted(id).await);
    }
    let elsewhere = world.deferred("d").await;
    world.ledger.finalize(&world.ann, &elsewhere, None, None).await.unwrap().unwrap();
    world
        .run(
            "update finalization_jobs set ready_at = ready_at - interval '1 hour' where queue = 'finalization'",
        )
        .await;
    let ahead = async || {
        let mut ahead = Vec::new();
        for job in &jobs {
            ahead.push(around(&world, job).await.ahead);
        }
        ahead
    };
    report(&world, &process("host:1", 4)).await;
    assert_eq!(ahead().await, [0, 1, 2]);
    let deferred =
        "update finalization_jobs set ready_at = now() + interval '1 hour' where conversation_id = 'b'";
    world.run(deferred).await;
    assert_eq!(ahead().await, [0, 0, 1], "no job is ahead of one that is not due");
}

#[tokio::test]
async fn jobs_page_applies_every_filter() {
    let three = ThreeConversations::new().await;
    let world = &three.world;
    let jobs = three.admitted().await;
    for (job, code) in jobs.iter().zip([FailureCode::ModelTimeout, FailureCode::ModelUnavailable]) {
        let run = world.claim(job).await;
        world.fail(&run, code).await;
    }
    world.claim(&jobs[2]).await;
    let finished = world.admitted("finished").await;
    complete(world, &finished, "test").await;
    world.dead("dead", FailureCode::InvalidJob).await;
    let listed = async |filter: JobFilter| {
        let page = world.operations().jobs_page(&JobFilter { limit: 9, ..filter }).await.unwrap();
        let mut jobs: Vec<JobId> = page.jobs.into_iter().map(|view| view.stored.job.id).collect();
        jobs.sort();
        jobs
    };
    let all = JobFilter::default;
    let status = |status: &str| JobFilter { status: Some(status.into()), ..all() };
    assert_eq!(listed(status("leased")).await, [jobs[2].clone()]);
    assert_eq!(listed(status("completed")).await, [finished]);
    let late = JobFilter { code: Some("model_timeout".into()), ..status("queued") };
    assert_eq!(listed(late).await, [jobs[0].clone()]);
    assert_eq!(listed(JobFilter { user: Some(three.bob.clone()), ..all() }).await, [jobs[2].clone()]);
    let soon = world.ledger.db().now().await.unwrap() + Duration::hours(1);
    assert_eq!(listed(JobFilter { since: Some(soon), ..all() }).await, []);
    assert_eq!(listed(JobFilter { until: Some(soon), ..all() }).await.len(), 5);
    world.run("update finalization_jobs set created_at = created_at - interval '14 days'").await;
    let week = Some(world.ledger.db().now().await.unwrap() - Duration::days(7));
    let old = |status: &str| JobFilter { status: Some(status.into()), until: week, ..all() };
    let new = |status: &str| JobFilter { status: Some(status.into()), since: week, ..all() };
    for (status, admitted_anew) in [("dead_letter", true), ("leased", true), ("completed", false)] {
        assert_eq!(listed(old(status)).await.is_empty(), admitted_anew, "{status}");
        assert_eq!(listed(new(status)).await.is_empty(), !admitted_anew, "{status}");
    }
    assert_eq!(
        listed(JobFilter { since: week, ..all() }).await,
        [],
        "in a list of all, ages count from the first"
    );
    let unsettled = JobFilter { unsettled: true, ..new("queued") };
    assert_eq!(listed(unsettled).await.len(), 2, "a live job is not settled");
    let five = world.operations().jobs_page(&JobFilter { limit: 5, ..all() }).await.unwrap();
    assert_eq!((five.jobs.len(), five.next), (5, None), "the fifth of five is the last");
    let ready = world.admitted("ready").await;
    let now = world.ledger.db().now().await.unwrap();
    let waiting = listed(JobFilter { waits_at: Some(now), ..status("queued") }).await;
    assert!(waiting.len() == 2 && !waiting.contains(&ready), "what is due waits for nothing: {waiting:?}");
}

#[tokio::test]
async fn operator_actions_apply_every_filter() {
    let world = World::new().await;
    let (one, other) =
        (world.dead("a", FailureCode::InvalidJob).await, world.dead("b", FailureCode::InvalidJob).await);
    for (job, operation, action) in [
        (&one, Operation::Discard, by("olga")),
        (&other, Operation::Replay { from_scratch: false }, by("pia")),
    ] {
        let answer = world.ledger.operate(job, operation, &action).await.unwrap();
        assert!(matches!(answer, Answer::Granted { .. }), "{answer:?}");
    }
    world.operations().pause(Queue::Creation, &by("pia")).await.unwrap();
    world.run("insert into operator_actions (user_id, action_id, subject, action, operator, reason, created_at) values \
        ('ann', 'x1', 'w', 'enable_webhook', 'rosa', 'r', now()), ('ann', 'x2', 'v', 'enable_webhook', 'rosa', 'r', now()), \
        ('bob', 'x3', 'w', 'enable_webhook', 'rosa', 'r', now())").await;
    let listed = async |filter: ActionFilter| {
        let actions = world.operations().actions(&ActionFilter { limit: 9, ..filter }).await.unwrap();
        let mut listed: Vec<String> =
            actions.into_iter().map(|action| format!("{} {}", action.operator, action.action)).collect();
        listed.sort();
        listed
    };
    let all = ActionFilter::default;
    assert_eq!(listed(ActionFilter { operator: Some("olga".into()), ..all() }).await, ["olga discard"]);
    assert_eq!(listed(ActionFilter { action: Some("pause".into()), ..all() }).await, ["pia pause"]);
    assert_eq!(listed(ActionFilter { job: Some((world.ann.clone(), other)), ..all() }).await, ["pia replay"]);
    let about = ActionFilter { about: Some((world.ann.clone(), "w".into())), ..all() };
    assert_eq!(listed(about).await, ["rosa enable_webhook"]);
    let first = world.operations().actions(&ActionFilter { limit: 4, ..all() }).await.unwrap();
    let last = first.last().unwrap();
    let before = Some((last.created_at, last.action_id.clone()));
    assert_eq!(listed(ActionFilter { before, ..all() }).await.len(), 2);
}

#[tokio::test]
async fn examine_counts_overdue_jobs_and_unwatched_leases() {
    let world = World::new().await;
    world.admitted("queued").await;
    for id in ["leased", "overdue", "parked"] {
        world.claimed(id).await;
    }
    world
        .run(
            "update finalization_jobs set status = 'blocked_byok', first_blocked_at = now(), lease_worker = null, \
                 lease_claimed_at = null, lease_expires_at = null, lease_ready_at = null where conversation_id = 'parked'; \
             update finalization_jobs set reconcile_after_at = now() - interval '2 minutes' \
                 where conversation_id in ('queued', 'overdue', 'parked'); \
             update finalization_jobs set reconcile_after_at = now() - interval '20 seconds' \
                 where conversation_id = 'leased'",
        )
        .await;
    let found = world.operations().examine().await.unwrap();
    assert_eq!((found.unwatched_leases, found.without_owners), (1, 0));
    world.run("update finalization_jobs set reconcile_after_at = now() - interval '2 hours'").await;
    let found = world.operations().examine().await.unwrap();
    assert_eq!((found.unwatched_leases, found.without_owners), (2, 3), "a queued job waits for a slot");
    assert!(world.ledger.db().is_migrated().await.unwrap());
    world.run("update _sqlx_migrations set success = false where version = (select max(version) from _sqlx_migrations)").await;
    assert_eq!(
        world.operations().examine().await.unwrap().missing_migrations.len(),
        1,
        "it was started and did not finish"
    );
    assert!(!world.ledger.db().is_migrated().await.unwrap());
}

#[tokio::test]
async fn examine_says_how_far_the_clock_was_set_back() {
    let world = World::new().await;
    world.admitted("a").await;
    assert!(world.operations().examine().await.unwrap().ahead < 0.5);
    world.run("update finalization_jobs set created_at = now() + interval '1 hour'").await;
    let ahead = world.operations().examine().await.unwrap().ahead;
    assert!((3_500.0..3_601.0).contains(&ahead), "{ahead}");
}

#[tokio::test]
async fn examine_does_not_count_short_lock_waits() {
    let world = World::new().await;
    let mut held = world.database.hold_locks("select from users for update").await;
    let waiting = Ledger::new(world.database.options(), Settings::default());
    let ann = world.ann.clone();
    let waits = tokio::spawn(async move { waiting.change_user(&ann, &Default::default()).await });
    world.database.until_somebody_waits().await;
    assert_eq!(world.operations().examine().await.unwrap().waiting_for_locks, 0);
    sqlx::raw_sql("rollback").execute(&mut held).await.unwrap();
    waits.await.unwrap().unwrap();
}

#[tokio::test]
async fn overview_counts_live_processes_and_each_minute() {
    let world = World::new().await;
    let mut counts = RunCounts { completed: 1, ..RunCounts::default() };
    counts.lengths[0] = 1;
    for id in ["host:1", "host:2", "host:3"] {
        world.operations().report_process(&process(id, 2), &counts).await.unwrap();
    }
    report(&world, &Process { stopping: true, ..process("host:2", 2) }).await;
    world
        .run(
            "update service_processes set seen_at = now() - interval '1 minute' where process_id = 'host:3'; \
             update service_minutes set minute = (select max(minute) from service_minutes); \
             update service_minutes set minute = minute - interval '10 minutes', lengths[1] = 0, lengths[10] = 9 \
                 where process_id = 'host:3'",
        )
        .await;
    let overview = world.operations().overview().await.unwrap();
    assert_eq!((overview.living, overview.slots), (1, (2, 2)));
    let minutes = world.operations().activity(1).await.unwrap();
    let mut completed: Vec<i64> =
        minutes.iter().map(|minute| minute.completed).filter(|completed| *completed > 0).collect();
    completed.sort_unstable();
    assert_eq!(completed, [1, 2]);
    let lengths: Vec<f64> = minutes.iter().filter_map(|minute| minute.p50_ms).collect();
    assert!(lengths.len() == 2 && lengths[0] > 1_000.0 && lengths[1] < 10.0, "{lengths:?}");
}

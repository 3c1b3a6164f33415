use std::{sync::atomic::Ordering, time::Duration};

use job::{FailureCode, Outcome, State, WorkerId};
use ledger::NamedClaim;
use operations::Operations;
use records::Status;
use stages::Verdict;
use store::UserChange;
use worker::{Ended, RunEvent};

use crate::{
    bench::{Bench, slots, work},
    engines::Script,
};

#[tokio::test]
async fn queued_job_is_claimed_run_and_completed() {
    let bench = Bench::new().await;
    let mut working = bench.work(&Script::open());
    let (conversation, job) = bench.admit("c1").await;

    assert_eq!(working.next().await.1, RunEvent::RunStarted);
    let (_, end) = working.until_ended().await;

    assert_eq!(end, Ended::Completed);
    assert_eq!(bench.job(&job).await.job.state, State::Completed { outcome: Outcome::Kept });
    let page = Operations::new(&bench.ledger).job_page(&job).await.unwrap().unwrap();
    let stages = &page.history.last().unwrap().stages;
    assert_eq!(stages.iter().filter(|(stage, _)| stage == "describe").count(), 1, "{stages:?}");
    assert!(stages.len() > 3, "{stages:?}");
    assert_eq!(page.engine.as_deref(), Some("describe/1"));
    let spent: Vec<_> = page.spent.iter().map(|one| (one.stage.as_str(), one.engine.as_str())).collect();
    let engines = [
        ("describe", "describe/1"),
        ("detect_discard", "judge/1"),
        ("embed", "embed/1"),
        ("extract_action_items", "items/1"),
        ("extract_memories", "memories/1"),
    ];
    assert_eq!(spent, engines);
    let view = bench.conversation(&conversation).await;
    assert_eq!(view.conversation.status, Status::Completed);
    assert_eq!(view.conversation.structured.title, "A plan for Friday");
    assert_eq!(view.action_items.len(), 1);
    let metrics = working.metrics();
    assert!(metrics.contains("listen_finalization_deliveries_total{answer=\"claimed\"} 1"));
    assert!(metrics.contains("listen_finalization_stage_seconds_count{stage=\"describe\"} 1"));
    assert!(metrics.contains("listen_finalization_run_seconds_count 1"));
    assert!(working.health.is_healthy());
    let health = working.health.clone();
    working.stop().await;
    assert!(!health.is_healthy());
}

#[tokio::test]
async fn app_calls_are_recorded_as_spending_of_the_job() {
    let bench = Bench::new().await;
    let apps = UserChange { apps: Some(vec!["minutes".to_owned()]), ..UserChange::default() };
    bench.ledger.change_user(&bench.user, &apps).await.unwrap().unwrap();
    let mut working = bench.work(&Script::open());
    let (_, job) = bench.admit("c1").await;
    assert_eq!(working.until_ended().await.1, Ended::Completed);
    let spent = Operations::new(&bench.ledger).job_page(&job).await.unwrap().unwrap().spent;
    let of_apps = spent.iter().find(|one| one.stage == "trigger_apps").expect("an app was asked");
    assert!(of_apps.engine == "apps/1" && of_apps.calls > 0, "{of_apps:?}");
}

#[tokio::test]
async fn discarded_conversation_records_its_judge() {
    let bench = Bench::new().await;
    let script = Script::open();
    *script.verdict.lock().unwrap() = Verdict::Discard;
    let mut working = bench.work(&script);
    let (_, job) = bench.admit("c1").await;
    assert_eq!(working.until_ended().await.1, Ended::Completed);
    let page = Operations::new(&bench.ledger).job_page(&job).await.unwrap().unwrap();
    assert_eq!(page.view.job.state, State::Completed { outcome: Outcome::Discarded });
    assert_eq!(page.engine.as_deref(), Some("judge/1"));
}

#[tokio::test]
async fn two_workers_run_one_job_once() {
    let bench = Bench::new().await;
    let script = Script::held();
    let mut one = bench.work(&script);
    let mut other = work(bench.elsewhere(), &script, slots(4));
    let (_, job) = bench.admit("c1").await;

    let one_has_it = tokio::select! {
        _ = one.until_started("describe") => true,
        _ = other.until_started("describe") => false,
    };
    script.gate.add_permits(2);
    let (claimed, end) = if one_has_it { one.until_ended().await } else { other.until_ended().await };

    assert_eq!(end, Ended::Completed);
    assert_eq!(claimed.job.id, job);
    let rest = [one.stop().await, other.stop().await].concat();
    assert!(!rest.contains(&RunEvent::RunStarted), "{rest:?}");
    assert_eq!(script.asked.load(Ordering::SeqCst), 1);
    let view = bench.job(&job).await;
    assert_eq!((view.job.epoch, view.job.runs), (job::Epoch(1), 1));
}

#[tokio::test]
async fn run_with_a_superseded_lease_writes_nothing() {
    let bench = Bench::new().await;
    let script = Script::held();
    // No heartbeat falls into the test: the fence alone must hold.
    let settings = worker::Settings { heartbeat: Duration::from_secs(3_600), ..slots(1) };
    let mut working = work(bench.ledger.clone(), &script, settings);
    let (conversation, id) = bench.admit("c1").await;
    working.until_started("describe").await;

    expire_lease(&bench, &id).await;
    bench.ledger.reconcile(&id).await.unwrap();
    let generation = bench.job(&id).await.job.generation;
    let other = WorkerId("other".to_owned());
    let claim = bench.ledger.claim_delivery(&id, generation, &other).await.unwrap();
    let NamedClaim::Granted { claimed, .. } = claim else { panic!("{claim:?}") };
    script.gate.add_permits(1);

    // It ends where it loses the lease: what would come behind the description is not paid for.
    loop {
        match working.next().await.1 {
            RunEvent::RunEnded { end, .. } => {
                assert_eq!(end, Ended::Lost);
                break;
            }
            event => assert_ne!(event, RunEvent::StageStarted { stage: "trigger_apps" }),
        }
    }
    let view = bench.job(&id).await;
    let taken = claimed.job;
    assert_eq!(taken.crashes, 1);
    let proven = job::Job { crashes: 0, crashed_epoch: None, ..taken };
    assert_eq!(view.job, proven, "the other's lease stands as it was, and the late run's crash was none");
    assert!(!view.checkpoints.iter().any(|stage| stage == "describe"), "{:?}", view.checkpoints);
    assert_eq!(bench.conversation(&conversation).await.conversation.structured.title, "");
}

#[tokio::test]
async fn heartbeat_ends_a_run_with_a_lost_lease() {
    let bench = Bench::new().await;
    let script = Script::held();
    let mut working = bench.work(&script);
    let (conversation, job) = bench.admit("c1").await;
    working.until_started("describe").await;

    assert!(bench.ledger.delete_conversation(&bench.user, &conversation).await.unwrap());

    // The gate stays shut: only the heartbeat can end this run.
    assert_eq!(working.until_ended().await.1, Ended::Lost);
    let state = bench.ledger.job(&job).await.unwrap().map(|view| view.stored.job.state);
    assert_eq!(state, Some(State::Completed { outcome: Outcome::Withdrawn }));
}

#[tokio::test]
async fn run_over_its_time_limit_fails() {
    let policy = job::Policy { run_limit: chrono::Duration::milliseconds(200), ..job::Policy::default() };
    let bench = Bench::deciding_by(policy).await;
    let mut working = bench.work(&Script::held());
    let (_, id) = bench.admit("c1").await;

    assert_eq!(working.until_ended().await.1.failure(), Some(FailureCode::RunTimeout));
    let job = bench.job(&id).await.stored.job;
    assert_eq!((job.attempts, job.last_code), (1, Some(FailureCode::RunTimeout)));
}

#[tokio::test]
async fn run_limit_does_not_interrupt_a_commit() {
    let limit = Duration::from_secs(6);
    let policy = job::Policy { run_limit: chrono::Duration::seconds(6), ..job::Policy::default() };
    let bench = Bench::deciding_by(policy).await;
    let script = Script::held();
    let mut working = bench.work(&script);
    let (conversation, id) = bench.admit("c1").await;
    working.until_started("describe").await;
    let held = "select from conversations where conversation_id = 'c1' for update";
    let holder = bench.database.hold_locks(held).await;
    script.gate.add_permits(1);
    bench.database.until_somebody_waits().await;

    tokio::time::sleep(limit).await;
    drop(holder);

    assert_eq!(working.until_ended().await.1, Ended::Completed);
    let job = bench.job(&id).await.stored.job;
    assert_eq!((job.state, job.attempts), (State::Completed { outcome: Outcome::Kept }, 0));
    assert_eq!(bench.conversation(&conversation).await.conversation.structured.title, "A plan for Friday");
}

#[tokio::test]
async fn run_waiting_for_its_commit_frees_its_slot() {
    let bench = Bench::new().await;
    let script = Script::held();
    let mut working = bench.work(&script);
    let (_, first) = bench.admit("c1").await;
    let (_, second) = bench.admit("c2").await;
    assert_eq!(working.until_started("describe").await.job.id, first);
    let held = "select from conversations where conversation_id = 'c1' for update";
    let holder = bench.database.hold_locks(held).await;
    script.gate.add_permits(1);

    assert_eq!(working.until_started("describe").await.job.id, second);

    drop(holder);
    assert_eq!(working.until_ended().await.0.job.id, first);
    script.gate.add_permits(1);
    assert_eq!(working.until_ended().await.0.job.id, second);
}

#[tokio::test]
async fn hard_stop_waits_for_no_run() {
    let bench = Bench::new().await;
    let script = Script::held();
    let mut working = bench.work(&script);
    let (_, id) = bench.admit("c1").await;
    script.until_asked().await;

    working.hard.cancel();

    working.stopped().await;
    assert_eq!(working.until_ended().await.1, Ended::Lost);
    assert!(
        matches!(bench.job(&id).await.job.state, State::Leased(_)),
        "it is taken over when its lease ends"
    );
}

#[tokio::test]
async fn run_panic_fails_the_attempt_and_the_worker_continues() {
    let bench = Bench::new().await;
    let mut working = bench.work(&Script::panicking(1));
    let (_, first) = bench.admit("c1").await;
    assert_eq!(working.until_ended().await.1.failure(), Some(FailureCode::Internal));

    let job = bench.job(&first).await.stored.job;
    assert_eq!((job.attempts, job.last_code), (1, Some(FailureCode::Internal)));
    assert!(matches!(job.state, State::Queued { .. }));
    assert!(working.metrics().contains("listen_finalization_retries_total 1"));
    assert!(working.metrics().contains("listen_finalization_failed_runs_total{code=\"internal\"} 1"));

    let (_, second) = bench.admit("c2").await;
    let (claimed, end) = working.until_ended().await;
    assert_eq!((claimed.job.id, end), (second, Ended::Completed));
}

#[tokio::test]
async fn soft_stop_releases_at_the_next_checkpoint_at_no_cost() {
    let bench = Bench::new().await;
    let script = Script::held();
    let mut working = bench.work(&script);
    let (_, id) = bench.admit("c1").await;
    working.until_started("describe").await;

    working.soft.cancel();
    script.gate.add_permits(1);

    assert_eq!(working.until_ended().await.1.as_str(), "released");
    working.stop().await;
    let view = bench.job(&id).await;
    assert!(matches!(view.job.state, State::Queued { .. }));
    assert_eq!((view.job.attempts, view.job.crashes, view.job.runs), (0, 0, 0));
    assert!(view.checkpoints.iter().any(|stage| stage == "describe"), "{:?}", view.checkpoints);

    let mut next = bench.work(&script);
    assert_eq!(next.until_ended().await.1, Ended::Completed);
    assert_eq!(script.asked.load(Ordering::SeqCst), 1, "what was paid for is recalled");
}

#[tokio::test]
async fn soft_stop_releases_jobs_claimed_afterwards() {
    let bench = Bench::new().await;
    let (_, id) = bench.admit("c1").await;
    // A claim may read, and store nothing.
    let mut holder = bench.database.hold_locks("lock table finalization_jobs in share mode").await;
    let working = bench.work(&Script::held());
    bench.database.until_somebody_waits().await;
    working.soft.cancel();
    sqlx::raw_sql("commit").execute(&mut holder).await.unwrap();
    assert_eq!(working.stop().await, [], "no run begins");
    let job = bench.job(&id).await.stored.job;
    assert!(matches!(job.state, State::Queued { .. }), "{job:?}");
    assert_eq!((job.attempts, job.crashes, job.runs, job.epoch), (0, 0, 0, job::Epoch(1)));
}

#[tokio::test]
async fn soft_stop_waits_for_a_silent_model_only_for_the_grace_period() {
    let bench = Bench::new().await;
    let script = Script::held();
    let settings = worker::Settings { grace_period: Duration::from_millis(50), ..slots(1) };
    let mut working = work(bench.ledger.clone(), &script, settings);
    let (_, id) = bench.admit("c1").await;
    working.until_started("describe").await;
    working.soft.cancel();
    assert_eq!(working.until_ended().await.1.as_str(), "released");
    let job = bench.job(&id).await.stored.job;
    assert!(matches!(job.state, State::Queued { .. }));
    assert_eq!((job.attempts, job.crashes, job.runs), (0, 0, 0));
}

#[tokio::test]
async fn worker_claims_no_more_than_its_free_slots() {
    for free in [1, 2] {
        let bench = Bench::new().await;
        let script = Script::held();
        let mut working = work(bench.ledger.clone(), &script, slots(free));
        for id in ["c1", "c2", "c3"] {
            bench.admit(id).await;
        }
        for _ in 0..free {
            working.until_started("describe").await;
        }

        let leased =
            operations::JobFilter { status: Some("leased".to_owned()), limit: 10, ..Default::default() };
        assert_eq!(Operations::new(&bench.ledger).jobs_page(&leased).await.unwrap().jobs.len(), free);
        script.gate.add_permits(3);
        for _ in 0..3 {
            assert_eq!(working.until_ended().await.1, Ended::Completed);
        }
    }
}

#[tokio::test]
async fn failed_stage_is_timed_named_and_charged() {
    let bench = Bench::new().await;
    let script = Script::held();
    *script.failure.lock().unwrap() = Some(FailureCode::ModelTimeout.into());
    let mut working = bench.work(&script);
    let (_, id) = bench.admit("c1").await;
    // No other stage has a checkpoint left to write that would carry it along.
    let mut done = 0;
    while done < 5 {
        done += u32::from(matches!(working.next().await.1, RunEvent::StageDone { .. }));
    }
    script.gate.add_permits(1);
    let (stage, why) = loop {
        if let (_, RunEvent::StageFailed { stage, code, .. }) = working.next().await {
            break (stage, code);
        }
    };
    assert_eq!((stage, why), ("describe", FailureCode::ModelTimeout));
    assert!(working.metrics().contains("listen_finalization_stage_seconds_count{stage=\"describe\"} 1"));
    assert_eq!(working.until_ended().await.1.failure(), Some(FailureCode::ModelTimeout));
    let spent = Operations::new(&bench.ledger).job_page(&id).await.unwrap().unwrap().spent;
    let calls: Vec<_> = spent.iter().map(|spent| (spent.epoch, spent.stage.as_str(), spent.calls)).collect();
    assert!(calls.contains(&(1, "describe", 1)), "{calls:?}");
}

#[tokio::test]
async fn database_disconnects_cost_no_attempt_and_no_result() {
    let bench = Bench::new().await;
    let script = Script::held();
    let settings = worker::Settings { heartbeat: Duration::from_secs(3_600), ..slots(1) };
    let mut working = work(bench.ledger.clone(), &script, settings);
    let (_, id) = bench.admit("c1").await;
    working.until_started("describe").await;
    let pool = bench.database.pool(2).await;
    let mut lock = pool.begin().await.unwrap();
    sqlx::query("lock table finalization_jobs in access exclusive mode").execute(&mut *lock).await.unwrap();
    script.gate.add_permits(1);

    // The run's own write waits for the lock, and loses its session while it does.
    bench.database.until_somebody_waits().await;
    bench
        .database
        .run(
            "select pg_terminate_backend(pid) from pg_stat_activity \
             where datname = current_database() and wait_event_type = 'Lock'",
        )
        .await;
    lock.commit().await.unwrap();

    assert_eq!(working.until_ended().await.1, Ended::Completed);
    let job = bench.job(&id).await.stored.job;
    assert_eq!((job.attempts, job.epoch, job.last_code), (0, job::Epoch(1), None));
    assert_eq!(script.asked.load(Ordering::SeqCst), 1);
}

async fn expire_lease(bench: &Bench, id: &job::JobId) {
    let expired = format!(
        "update finalization_jobs set version = version + 1, \
         lease_expires_at = clock_timestamp() - interval '1 second', \
         reconcile_after_at = clock_timestamp() - interval '1 second' where job_id = '{}'",
        id.as_str()
    );
    bench.database.run(&expired).await;
}

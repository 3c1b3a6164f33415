//! The lease watch, the duties of a round, and the schedule.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod setup;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use apalis_cron::{Schedule, Tick};
use chrono::Utc;
use job::{JobId, Queue};
use reconciler::{Reconciler, Settings, run, watch_leases};
use records::ConversationId;
use setup::Setup;

const SOON: Duration = Duration::from_millis(10);

/// A job whose worker died.
async fn abandoned_lease(setup: &Setup, id: &str, crashes: i32) -> JobId {
    let job = setup.queued(id).await;
    setup.claim(1).await;
    setup
        .sql(&format!(
            "update finalization_jobs set lease_expires_at = clock_timestamp() - interval '1 second', \
             reconcile_after_at = clock_timestamp() - interval '1 second', crashes = {crashes} \
             where job_id = '{job}'"
        ))
        .await;
    job
}

#[tokio::test]
async fn watch_recovers_an_expired_lease() {
    let setup = Setup::new().await;
    let job = abandoned_lease(&setup, "c1", 0).await;
    let watch = watch_leases(setup.ledger.clone(), SOON, 7, setup.metrics.clone(), setup.stop.clone());
    let watch = tokio::spawn(watch);

    setup.woken(Queue::Creation).await;

    assert_eq!(setup.job(&job).await, ("queued".to_owned(), 2, 1));
    setup.stop.cancel();
    watch.await.unwrap();
    assert_eq!(setup.actions("recovered"), "1");
    assert_eq!(setup.retries.get(), 1);
}

#[tokio::test]
async fn watch_recovers_all_expired_leases_page_by_page() {
    let setup = Setup::new().await;
    setup
        .sql(
            "insert into finalization_jobs (user_id, job_id, conversation_id, revision, origin, queue, status, \
                 epoch, lease_worker, lease_claimed_at, lease_expires_at, lease_ready_at, requires_keys, \
                 force_process, admitted_at, reconcile_after_at, created_at, updated_at) \
             select 'ana', 'fj_' || n, 'c' || n, 1, 'create', 'creation', 'leased', 1, 'dead', at, at, at, false, \
                 false, at, at, at, at \
             from generate_series(1, 250) n, (select clock_timestamp() - interval '1 minute' as at) t",
        )
        .await;
    let watch = watch_leases(setup.ledger.clone(), SOON, 7, setup.metrics.clone(), setup.stop.clone());
    let watch = tokio::spawn(watch);

    let recovered = async {
        while setup.count("select count(*) from finalization_jobs where status = 'queued'").await < 250 {
            tokio::time::sleep(SOON).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), recovered).await.unwrap();

    setup.stop.cancel();
    watch.await.unwrap();
    // Between two looks lie at least four seconds.
    let pauses = "select count(*) from (select updated_at - lag(updated_at) over (order by updated_at) as pause \
                  from finalization_jobs) t where pause >= interval '4 seconds'";
    assert_eq!(setup.count(pauses).await, 0);
    assert_eq!(setup.actions("recovered"), "250");
}

#[tokio::test]
async fn watch_continues_past_a_lease_that_cannot_be_ended() {
    let setup = Setup::new().await;
    let poisoned = abandoned_lease(&setup, "c1", 0).await;
    let behind = abandoned_lease(&setup, "c2", 0).await;
    setup.refuse(&poisoned).await;
    let watch = watch_leases(setup.ledger.clone(), SOON, 7, setup.metrics.clone(), setup.stop.clone());
    let watch = tokio::spawn(watch);

    setup.woken(Queue::Creation).await;

    assert_eq!(setup.job(&behind).await, ("queued".to_owned(), 2, 1));
    assert_eq!(setup.job(&poisoned).await, ("leased".to_owned(), 1, 0));
    setup.stop.cancel();
    watch.await.unwrap();
}

#[tokio::test]
async fn pass_leaves_expired_leases_to_the_watch() {
    let setup = Setup::new().await;
    let job = abandoned_lease(&setup, "c1", 0).await;

    setup.reconciler(100).pass().await.unwrap();

    assert_eq!(setup.job(&job).await, ("leased".to_owned(), 1, 0));
}

#[tokio::test]
async fn watch_dead_letters_the_fifth_crash() {
    let setup = Setup::new().await;
    let job = abandoned_lease(&setup, "c1", 4).await;
    let watch = watch_leases(setup.ledger.clone(), SOON, 7, setup.metrics.clone(), setup.stop.clone());
    let watch = tokio::spawn(watch);

    while setup.dead_letters.get() == 0 {
        tokio::time::sleep(SOON).await;
    }

    setup.stop.cancel();
    watch.await.unwrap();
    assert_eq!(setup.job(&job).await, ("dead_letter".to_owned(), 1, 5));
    assert_eq!(setup.actions("dead_letter"), "1");
    assert_eq!(setup.dead_letters.get(), 1);
    assert_eq!(setup.retries.get(), 0);
}

#[tokio::test]
async fn round_admits_an_abandoned_deferred_conversation() {
    let setup = Setup::new().await;
    setup.silent("old", 25).await;
    setup.deferred("new").await;

    setup.reconciler(100).do_duties().await.unwrap();

    let admitted = "select count(*) from finalization_jobs where conversation_id = 'old' and origin = 'finalize' \
                    and not force_process and status = 'queued'";
    assert_eq!(setup.count(admitted).await, 1);
    assert_eq!(setup.count("select count(*) from finalization_jobs").await, 1, "the new one still waits");
    assert_eq!(setup.actions("admitted"), "1");
}

#[tokio::test]
async fn round_counts_admissions_made_before_a_database_outage() {
    let setup = Setup::new().await;
    setup.silent("first", 26).await;
    setup.silent("second", 25).await;
    setup.refuse_with("57P03", "insert on finalization_jobs", "new.conversation_id = 'second'").await;

    let ended = setup.reconciler(100).do_duties().await;

    assert!(ended.is_err_and(|error| error.is_passing()));
    assert_eq!(setup.count("select count(*) from finalization_jobs").await, 1);
    assert_eq!(setup.actions("admitted"), "1");
}

#[tokio::test]
async fn round_admits_abandoned_conversations_behind_locked_ones() {
    let setup = Setup::new().await;
    for (id, hours) in [("locked-1", 28), ("locked-2", 27), ("c1", 26), ("c2", 25)] {
        setup.silent(id, hours).await;
    }
    setup.refuse_with("55P03", "insert on finalization_jobs", "new.conversation_id like 'locked-%'").await;

    assert!(setup.reconciler(100).do_duties().await.is_err_and(|error| error.is_passing()));

    assert_eq!(setup.actions("admitted"), "2");
}

#[tokio::test]
async fn round_reads_all_pages_of_abandoned_conversations() {
    let setup = Setup::new().await;
    for (id, hours) in [("refused", 28), ("c1", 27), ("c2", 26), ("c3", 25)] {
        setup.silent(id, hours).await;
    }
    setup.refuse_with("P0001", "insert on finalization_jobs", "new.conversation_id = 'refused'").await;

    setup.reconciler(2).do_duties().await.unwrap();

    assert_eq!(setup.actions("admitted"), "3");
}

#[tokio::test]
async fn round_continues_past_conversations_it_cannot_admit() {
    let setup = Setup::new().await;
    for number in 0..100 {
        setup.silent(&format!("refused-{number}"), 26).await;
    }
    setup.silent("behind", 25).await;
    setup.refuse_with("P0001", "insert on finalization_jobs", "new.conversation_id like 'refused-%'").await;
    let refused = ConversationId::new("refused-0");
    assert!(setup.ledger.admit_abandoned(&setup::user(), &refused).await.is_err());
    let once = setup.refused().await;

    setup.reconciler(100).do_duties().await.unwrap();

    assert_eq!(setup.actions("admitted"), "1");
    assert_eq!(setup.refused().await, 101 * once, "each was tried once in the round");
}

#[tokio::test]
async fn round_fails_a_processing_conversation_without_a_job() {
    let setup = Setup::new().await;
    setup.queued("stuck").await;
    setup.queued("running").await;
    setup.sql("delete from finalization_jobs where conversation_id = 'stuck'").await;
    setup.sql("update conversations set updated_at = updated_at - interval '16 minutes'").await;

    setup.reconciler(100).do_duties().await.unwrap();

    let failed = "select count(*) from conversations where status = 'failed' and conversation_id = 'stuck'";
    assert_eq!(setup.count(failed).await, 1);
    assert_eq!(setup.count("select count(*) from conversations where status = 'processing'").await, 1);
    assert_eq!(setup.actions("swept"), "1");
}

#[tokio::test]
async fn round_continues_an_unfinished_sweep_in_the_next() {
    let setup = Setup::new().await;
    for number in 0..3 {
        setup.queued(&format!("running{number}")).await;
    }
    setup
        .sql(
            "update conversations set updated_at = updated_at - interval '16 minutes'; \
             delete from finalization_jobs where conversation_id = 'running2'",
        )
        .await;
    let settings = Settings { page: 1, budget: Duration::ZERO, ..Settings::default() };
    let reconciler =
        Reconciler::new(setup.ledger.clone(), settings, setup.metrics.clone(), setup.stop.clone());
    for _ in 0..2 {
        reconciler.do_duties().await.unwrap();
        assert_eq!(setup.actions("swept"), "0");
    }
    reconciler.do_duties().await.unwrap();
    assert_eq!(setup.actions("swept"), "1");
}

#[tokio::test]
async fn round_prunes_finished_jobs_after_their_retention() {
    let setup = Setup::new().await;
    for id in ["old", "older", "new"] {
        setup.queued(id).await;
    }
    for (conversation, days) in [("old", 31), ("older", 32), ("new", 29)] {
        setup
            .sql(&format!(
                "update finalization_jobs set status = 'completed', outcome = 'kept', ready_at = null, \
                 reconcile_after_at = null, finished_at = clock_timestamp() - interval '{days} days' \
                 where conversation_id = '{conversation}'"
            ))
            .await;
    }
    setup
        .sql(
            "update conversations set status = 'completed'; \
             insert into operator_actions (user_id, action_id, action, operator, reason, created_at) \
             values ('ana', 'a', 'replay', 'olga', '', clock_timestamp() - interval '31 days'); \
             insert into request_keys (user_id, route, request_key, fingerprint, made, created_at, running_until) \
             select 'ana', '/', 'k', '', '{}', at, at from (select clock_timestamp() - interval '31 days' as at) t",
        )
        .await;

    setup.reconciler(1).do_duties().await.unwrap();

    assert_eq!(setup.count("select count(*) from finalization_jobs where conversation_id = 'new'").await, 1);
    assert_eq!(setup.count("select count(*) from finalization_jobs").await, 1, "batch by batch");
    assert_eq!(
        setup.count("select count(*) from finalization_admissions").await,
        3,
        "admissions outlive jobs"
    );
    assert_eq!(setup.actions("pruned"), "4", "two jobs, an action, a request");
}

/// Where people are is forgotten after half an hour, however many they are.
#[tokio::test]
async fn round_forgets_all_old_locations_and_not_only_a_page() {
    let setup = Setup::new().await;
    setup
        .sql(
            "insert into users (user_id) select 'u' || n from generate_series(1, 5) n; \
             insert into user_locations (user_id, latitude, longitude, noted_at) \
             select user_id, 1, 2, clock_timestamp() - interval '31 minutes' from users",
        )
        .await;
    setup.reconciler(2).do_duties().await.unwrap();
    assert_eq!(setup.count("select count(*) from user_locations").await, 0);
}

/// Ticks at every full second.
#[derive(Clone)]
struct EverySecond;

impl Schedule<Utc> for EverySecond {
    #[expect(clippy::disallowed_methods, reason = "a schedule is asked what comes after now")]
    fn next_tick(&mut self, _: &Utc) -> Option<Tick<Utc>> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
        Some(Tick::new(now.as_secs() + 1))
    }
}

#[tokio::test]
async fn rounds_run_at_start_and_on_schedule_until_shutdown() {
    let setup = Setup::new().await;
    setup.silent("c1", 25).await;
    let round = run(
        setup.ledger.clone(),
        Settings::default(),
        EverySecond,
        setup.metrics.clone(),
        setup.stop.clone(),
    );
    let running = tokio::spawn(round);

    setup.woken(Queue::Finalization).await;
    setup.silent("c2", 25).await;
    setup.woken(Queue::Finalization).await;

    setup.stop.cancel();
    tokio::time::timeout(Duration::from_secs(60), running).await.unwrap().unwrap();
    assert_eq!(setup.actions("admitted"), "2", "a later round admitted the second");
    assert!((1.0e9..1.0e10).contains(&setup.last_success()), "a time of the database's clock, in seconds");
}

/// Ticks when no task waits any more.
#[derive(Clone)]
struct InAYear;

impl Schedule<Utc> for InAYear {
    #[expect(clippy::disallowed_methods, reason = "a schedule is asked what comes after now")]
    fn next_tick(&mut self, _: &Utc) -> Option<Tick<Utc>> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
        Some(Tick::new(now.as_secs() + 31_536_000))
    }
}

#[tokio::test]
async fn round_at_start_is_retried_without_waiting_for_the_schedule() {
    let setup = Setup::new().await;
    setup.silent("c1", 25).await;
    setup.refuse_with("57P03", "insert on finalization_jobs", "true").await;
    let (ledger, metrics, stop) = (setup.ledger.clone(), setup.metrics.clone(), setup.stop.clone());
    let running = tokio::spawn(run(ledger, Settings::default(), InAYear, metrics, stop));
    while setup.refused().await == 0 {
        tokio::time::sleep(SOON).await;
    }
    assert_eq!(setup.last_success(), 0.0, "a duty failed");

    setup.sql("drop trigger refused on finalization_jobs").await;
    let made = async {
        while setup.last_success() == 0.0 {
            tokio::time::sleep(SOON).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), made).await.unwrap();

    setup.stop.cancel();
    tokio::time::timeout(Duration::from_secs(60), running).await.unwrap().unwrap();
}

#[tokio::test]
async fn round_gives_up_a_job_parked_too_long_in_every_mode() {
    for records_rounds in [true, false] {
        let setup = Setup::new().await;
        let [job] = setup.overdue(["c1"]).await;
        assert!(of_mode(&setup, records_rounds).make_round().await);
        assert_eq!(setup.job(&job).await.0, "dead_letter");
        let failed = "select count(*) from conversations where status = 'failed' and discarded";
        assert_eq!(setup.count(failed).await, 1, "its conversation goes with it");
    }
}

fn of_mode(setup: &Setup, records_rounds: bool) -> Reconciler {
    let settings = Settings { records_rounds, ..Settings::default() };
    Reconciler::new(setup.ledger.clone(), settings, setup.metrics.clone(), setup.stop.clone())
}

#[tokio::test]
async fn round_cut_short_by_shutdown_is_no_success() {
    let setup = Setup::new().await;
    let reconciler = setup.reconciler(100);
    setup.stop.cancel();
    assert!(reconciler.make_round().await);
    assert_eq!(setup.last_success(), 0.0);
    assert_eq!(setup.count("select count(*) from service_rounds").await, 0);
}

#[tokio::test]
async fn round_with_a_failed_duty_is_no_success() {
    let setup = Setup::new().await;
    setup.silent("c1", 25).await;
    setup.refuse_with("57P03", "insert on finalization_jobs", "true").await;
    assert!(!setup.reconciler(100).make_round().await);
    assert_eq!(setup.last_success(), 0.0);
    assert_eq!(setup.count("select count(*) from service_rounds").await, 0);
}

#[tokio::test]
async fn round_of_a_process_without_dispatch_is_not_recorded() {
    let setup = Setup::new().await;
    setup.silent("old", 25).await;

    assert!(of_mode(&setup, false).make_round().await);

    assert_eq!(setup.last_success(), 0.0, "the process that dispatches may be missing");
    assert_eq!(setup.count("select count(*) from service_rounds").await, 0);
    assert_eq!(setup.actions("admitted"), "1", "its duties are done");

    assert!(of_mode(&setup, true).make_round().await);
    assert!(setup.last_success() > 1.0e9, "there is no process that dispatches: the round was whole");
}

//! `verify` finds rows that were corrupted by hand, each with its own check; and `recount` corrects totals.

use job::FailureCode;
use ledger::Operation;
use operations::{CHECKS, Operations};

use crate::world::{REPLAY, World, olga};

/// The checks that find something.
async fn broken(world: &World) -> Vec<&'static str> {
    let mut broken = Vec::new();
    for check in &CHECKS {
        let finding = world.operations().verify(check, 5).await.unwrap();
        if !finding.offenders.is_empty() {
            broken.push(finding.name);
        }
    }
    broken
}

async fn world_with_jobs() -> World {
    let world = World::new().await;
    world.admitted("queued").await;
    world.claimed("leased").await;
    world.dead("dead", FailureCode::InvalidJob).await;
    world.deferred("deferred").await;
    world.has_process().await;
    world
}

#[tokio::test]
async fn totals_follow_a_job_through_dead_letter_replay_and_discard() {
    let world = world_with_jobs().await;
    let job = world.dead("again", FailureCode::InvalidJob).await;
    assert_eq!(broken(&world).await, Vec::<&str>::new(), "dead");
    world.operate(&job, REPLAY).await.unwrap();
    assert_eq!(broken(&world).await, Vec::<&str>::new(), "replayed");
    let run = world.claim(&job).await;
    world.fail(&run, FailureCode::InvalidJob).await;
    assert_eq!(broken(&world).await, Vec::<&str>::new(), "dead again");
    world.operate(&job, Operation::Discard).await.unwrap();
    assert_eq!(broken(&world).await, Vec::<&str>::new(), "settled");
}

#[tokio::test]
async fn verify_finds_each_corruption_with_its_own_check() {
    for (harm, expected) in [
        ("delete from finalization_admissions", vec!["jobs_were_admitted"]),
        ("update finalization_totals set jobs = jobs + 1 where stripe = 3", vec!["totals_recount"]),
        ("update dead_letter_totals set jobs = 0", vec!["dead_letters_recount"]),
        // A queued job waits for a slot, however long the queue.
        (
            "update finalization_jobs set reconcile_after_at = now() - interval '2 hours' where status = 'queued'",
            vec![],
        ),
        (
            "update finalization_jobs set reconcile_after_at = now() - interval '2 hours' where status = 'leased'; \
             delete from service_processes",
            vec!["live_jobs_have_owners"],
        ),
        (
            "update conversations set status = 'completed' where conversation_id = 'queued'",
            vec!["jobs_and_conversations_agree"],
        ),
        (
            "alter table finalization_jobs drop constraint keys_never_queue; \
             update finalization_jobs set requires_keys = true where status = 'queued'",
            vec!["keys_never_queue"],
        ),
        (
            "update finalization_jobs set history = history || (history -> 0) where status = 'leased'",
            vec!["numbers_only_grow"],
        ),
        (
            "update finalization_jobs set history = '[{\"v\": 2, \"verb\": \"complete\", \"epoch\": 1, \"gen\": 1}, \
                 {\"v\": 3, \"verb\": \"complete\", \"epoch\": 1, \"gen\": 1}]' where status = 'leased'",
            vec!["one_completion"],
        ),
        (
            "update conversations set status = 'processing' where conversation_id = 'deferred'",
            vec!["conversations_are_processed_by_jobs"],
        ),
        (
            "delete from conversations where conversation_id = 'queued'",
            vec!["live_jobs_have_conversations", "usage_recounts"],
        ),
        (
            "delete from finalization_jobs where status = 'queued'",
            vec!["admissions_have_jobs", "conversations_are_processed_by_jobs"],
        ),
    ] {
        let world = world_with_jobs().await;
        world.run(harm).await;
        assert_eq!(broken(&world).await, expected, "{harm}");
    }
}

#[tokio::test]
async fn recount_corrects_totals_and_is_audited_once() {
    let world = world_with_jobs().await;
    world.dead("settled", FailureCode::NoContent).await;
    world
        .run(
            "update finalization_totals set jobs = 7 where stripe = 3; \
             update dead_letter_totals set jobs = jobs + 2 where code = 'no_content'; \
             delete from dead_letter_totals where code = 'invalid_job'",
        )
        .await;
    assert!(world.operations().recount(&olga()).await.unwrap());
    assert_eq!(broken(&world).await, Vec::<&str>::new());
    assert!(!world.operations().recount(&olga()).await.unwrap(), "nothing is left to correct");
    assert_eq!(world.count("select count(*) from operator_actions where action = 'recount'").await, 1);
}

#[tokio::test]
async fn concurrent_recounts_correct_totals_once() {
    let world = world_with_jobs().await;
    world
        .run("update finalization_totals set jobs = jobs + 7 where status = 'completed' and stripe = 3")
        .await;
    let other = "select pg_advisory_xact_lock(x'007265636f756e74'::bigint); \
        update finalization_totals set jobs = jobs - 7 where status = 'completed' and stripe = 0";
    let corrected = world.database.overtaken_by(other, world.operations().recount(&olga())).await;
    assert!(!corrected.unwrap());
    assert_eq!(broken(&world).await, Vec::<&str>::new());
}

#[tokio::test]
async fn totals_are_compared_as_sums_over_stripes() {
    let world = world_with_jobs().await;
    world
        .run(
            "update finalization_totals set jobs = jobs + case stripe when 3 then 2 when 5 then -2 else 0 end; \
             update dead_letter_totals set jobs = jobs - 1; \
             insert into dead_letter_totals (code, settled, stripe, jobs) \
                 select code, settled, (stripe + 1) % 16, 1 from dead_letter_totals",
        )
        .await;
    assert_eq!(broken(&world).await, Vec::<&str>::new());
    assert!(!world.operations().recount(&olga()).await.unwrap());
    assert_eq!(world.count("select count(*) from operator_actions").await, 0);
}

#[tokio::test]
async fn recount_recreates_missing_stripes() {
    let world = world_with_jobs().await;
    world
        .run(
            "update finalization_totals set jobs = jobs + 5 where status = 'dead_letter' and stripe = 0; \
             delete from finalization_totals where status = 'completed' or stripe = 3",
        )
        .await;
    assert_eq!(broken(&world).await, ["totals_recount"]);
    world
        .run(
            "create function may_take_ten_minutes() returns trigger language plpgsql as $$ begin \
                 assert current_setting('statement_timeout') = '10min'; return new; end $$; \
             create trigger may_take_ten_minutes before insert or update on finalization_totals \
                 for each row execute function may_take_ten_minutes()",
        )
        .await;
    assert!(world.operations().recount(&olga()).await.unwrap());
    assert_eq!(broken(&world).await, Vec::<&str>::new());
    assert_eq!(world.count("select count(*) from finalization_totals").await, 32);
    world.run("drop trigger may_take_ten_minutes on finalization_totals").await;
    world.dead("another", FailureCode::InvalidJob).await;
    assert_eq!(broken(&world).await, Vec::<&str>::new(), "it is counted wherever it falls");
    assert!(!world.operations().recount(&olga()).await.unwrap());
}

#[tokio::test]
async fn examine_of_a_healthy_and_of_an_empty_database() {
    let world = world_with_jobs().await;
    let found = world.operations().examine().await.unwrap();
    let server: String = world.value("select current_setting('server_version')").await;
    assert_eq!(found.server, server);
    assert_eq!((found.missing_migrations.len(), found.unknown_migrations.len()), (0, 0));
    assert_eq!((found.without_owners, found.unwatched_leases), (0, 0));
    world
        .run(
            "delete from finalization_jobs where status = 'queued'; \
             update finalization_jobs set reconcile_after_at = now() - interval '2 hours' where status = 'leased'",
        )
        .await;
    let found = world.operations().examine().await.unwrap();
    assert_eq!((found.without_owners, found.unwatched_leases), (1, 1));
    let empty = testbed::TestDatabase::empty().await;
    let ledger = ledger::Ledger::new(empty.options(), ledger::Settings::default());
    assert!(!Operations::new(&ledger).examine().await.unwrap().missing_migrations.is_empty());
}

//! Deferring a job whose repair failed, and rows that no type can express: they fail only themselves.

use chrono::Duration;
use db::Error;
use job::State;
use ledger::Renewal;

use crate::world::World;

/// Writes an unknown status into one conversation's job, as no operation could.
async fn make_unreadable(world: &World, conversation: &str) {
    world.run("alter table finalization_jobs drop constraint if exists status_known").await;
    world.run("alter table finalization_jobs drop constraint if exists queued_has_ready_at").await;
    world.run("alter table finalization_jobs drop constraint if exists lease_iff_leased").await;
    sqlx::query("update finalization_jobs set status = 'nonsense' where conversation_id = $1")
        .bind(conversation)
        .execute(&world.pool)
        .await
        .unwrap();
}

#[tokio::test]
async fn unreadable_job_is_an_error_with_its_id_and_can_be_deferred() {
    let world = World::new().await;
    let job = world.claimed("a").await.job.id;
    world.age(&job, Duration::seconds(301)).await;
    world.run("alter table finalization_jobs drop constraint origin_known").await;
    world.run("update finalization_jobs set origin = 'nonsense'").await;
    assert_eq!(world.ledger.expired_leases(None, 10).await.unwrap().found.len(), 1);
    match world.ledger.reconcile(&job).await.unwrap_err() {
        Error::ImpossibleRow { table, id, column } => {
            assert_eq!((table, id.as_str(), column), ("finalization_jobs", job.as_str(), "origin"));
        }
        other => panic!("{other:?}"),
    }
    world.ledger.defer(&world.ann, &job).await.unwrap();
    assert!(world.ledger.expired_leases(None, 10).await.unwrap().found.is_empty());
}

#[tokio::test]
async fn renew_continues_past_an_unreadable_job() {
    let world = World::new().await;
    let unreadable = world.claimed("a").await;
    let sound = world.claimed("b").await;
    make_unreadable(&world, "a").await;
    let renewals = world.ledger.renew(&[unreadable.lease_token(), sound.lease_token()]).await.unwrap();
    assert_eq!(renewals[0], Renewal::Lost);
    assert!(matches!(renewals[1], Renewal::Renewed { .. }), "{renewals:?}");
}

/// Seconds between the lease's end and the next check of the only job: 0, or the check would be late.
const CHECK_DELAY: &str =
    "select extract(epoch from reconcile_after_at - lease_expires_at)::bigint from finalization_jobs";

#[tokio::test]
async fn defer_leaves_a_claimed_job_as_it_is() {
    let world = World::new().await;
    let claimed = world.claimed("c").await;
    world.ledger.defer(&claimed.user_id, &claimed.job.id).await.unwrap();
    assert_eq!(world.count(CHECK_DELAY).await, 0);
}

#[tokio::test]
async fn defer_postpones_the_check_of_an_expired_lease() {
    let world = World::new().await;
    let claimed = world.claimed("c").await;
    world.run("update finalization_jobs set reconcile_after_at = now() - interval '1 second'").await;
    world.ledger.defer(&claimed.user_id, &claimed.job.id).await.unwrap();
    let deferred =
        "select count(*) from finalization_jobs where reconcile_after_at > now() and ready_at is null";
    assert_eq!(world.count(deferred).await, 1);
}

#[tokio::test]
async fn defer_leaves_terminal_jobs_as_they_are() {
    let world = World::new().await;
    let dead = world.dead("c", job::FailureCode::InvalidJob).await;
    let before = world.view(&dead).await;
    world.ledger.defer(&world.ann, &dead).await.unwrap();
    let after = world.view(&dead).await;
    assert_eq!((&after.job, after.reconcile_after_at), (&before.job, None));
    assert!(matches!(after.job.state, State::DeadLetter { .. }));
    let run = world.claimed("d").await;
    world.ledger.defer(&world.ann, &run.job.id).await.unwrap();
    let State::Leased(lease) = world.job(&run.job.id).await.state else { panic!("it is still leased") };
    assert_eq!(State::Leased(lease), run.job.state);
}

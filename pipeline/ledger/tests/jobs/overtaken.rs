//! Another process was faster: a command for a superseded claim, or check, changes nothing of the next one.

use job::Epoch;
use ledger::{LeaseToken, Renewal};

use crate::world::World;

/// Where the lease of the only job stands to its next look: zero seconds apart, or the look would come too late.
const LATE: &str =
    "select extract(epoch from reconcile_after_at - lease_expires_at)::bigint from finalization_jobs";

#[tokio::test]
async fn two_claims_of_one_job_in_one_process_are_renewed_each_for_itself() {
    let world = World::new().await;
    let old = world.claimed("c").await.lease_token();
    world.run("update finalization_jobs set epoch = 2, lease_worker = 'w2'").await;
    let new = LeaseToken { epoch: Epoch(2), ..old.clone() };
    for asked in [[old.clone(), new.clone()], [new.clone(), old.clone()]] {
        for (token, renewal) in asked.iter().zip(world.ledger.renew(&asked).await.unwrap()) {
            match token.epoch {
                Epoch(2) => assert!(matches!(renewal, Renewal::Renewed { .. }), "{renewal:?}"),
                _ => assert_eq!(renewal, Renewal::Lost),
            }
        }
    }
    // The same where the row is held, and the leases are only looked at.
    let _held = world.database.hold_locks("select from finalization_jobs for update").await;
    let asked = [old, new];
    let renewed = world.ledger.renew(&asked).await.unwrap();
    assert!(matches!(renewed[..], [Renewal::Lost, Renewal::Renewed { .. }]), "{renewed:?}");
}

#[tokio::test]
async fn a_job_that_was_claimed_meanwhile_is_not_deferred() {
    let world = World::new().await;
    let claimed = world.claimed("c").await;
    world.ledger.defer(&claimed.user_id, &claimed.job.id).await.unwrap();
    assert_eq!(world.count(LATE).await, 0);
}

#[tokio::test]
async fn a_deferred_lease_is_checked_later() {
    let world = World::new().await;
    let claimed = world.claimed("c").await;
    world.run("update finalization_jobs set reconcile_after_at = now() - interval '1 second'").await;
    world.ledger.defer(&claimed.user_id, &claimed.job.id).await.unwrap();
    let put_off =
        "select count(*) from finalization_jobs where reconcile_after_at > now() and ready_at is null";
    assert_eq!(world.count(put_off).await, 1);
}

#[tokio::test]
async fn a_run_that_has_completed_is_done_and_one_that_lasts_too_long_is_told_so() {
    let world = World::new().await;
    let (done, long) = (world.claimed("c").await, world.claimed("d").await);
    let result = crate::world::completion(&done, job::Outcome::Kept, ledger::Results::default());
    world.ledger.complete(&result).await.unwrap();
    world
        .run(
            "update finalization_jobs set lease_claimed_at = now() - interval '1 day' where conversation_id = 'd'",
        )
        .await;
    let asked = [done.lease_token(), long.lease_token()];
    assert_eq!(world.ledger.renew(&asked).await.unwrap(), [Renewal::Done, Renewal::RunLimit]);
    // Where the rows are held they are only looked at; who took the job over is not who has lost it.
    world
        .run("update finalization_jobs set epoch = 2, lease_worker = 'w2' where conversation_id = 'd'")
        .await;
    let _held = world.database.hold_locks("select from finalization_jobs for update").await;
    assert_eq!(world.ledger.renew(&asked).await.unwrap(), [Renewal::Done, Renewal::Lost]);
}

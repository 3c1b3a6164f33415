//! Renewals: all leases of a process in one statement, each under its own claim.

use chrono::Duration;
use job::Job;

use crate::world::World;

/// The job after its former holder renewed in vain: it was late, and did not crash.
fn proven(job: Job) -> Job {
    Job { crashes: 0, crashed_epoch: None, ..job }
}

#[tokio::test]
async fn renew_skips_a_locked_row() {
    let world = World::new().await;
    let (one, other) = (world.claimed("a").await, world.claimed("b").await);
    let _held = world
        .database
        .hold_locks("select from finalization_jobs where conversation_id = 'a' for update")
        .await;
    let asked = [one.lease_token(), other.lease_token()];
    let renewed = world.ledger.renew(&asked).await.unwrap();
    let until = |claimed: &ledger::Claimed| match &claimed.job.state {
        job::State::Leased(lease) => lease.expires_at,
        other => panic!("{other:?}"),
    };
    assert_eq!(renewed[0], ledger::Renewal::Renewed { until: until(&one) }, "it stands as it is");
    assert!(matches!(renewed[1], ledger::Renewal::Renewed { until: later } if later > until(&other)));
}

#[tokio::test]
async fn renew_answers_each_claim_by_its_own_epoch() {
    let world = World::new().await;
    let (old, other) = (world.claimed("a").await, world.claimed("b").await);
    world.age(&old.job.id, Duration::seconds(31)).await;
    let new = world.claim(&old.job.id).await;
    let newer = world.claimed("c").await;
    assert_eq!(world.ledger.renew(&[old.lease_token()]).await.unwrap(), [ledger::Renewal::Lost]);
    let asked = [newer.lease_token(), old.lease_token(), other.lease_token()];
    let renewed = world.ledger.renew(&asked).await.unwrap();
    assert!(matches!(renewed[0], ledger::Renewal::Renewed { .. }));
    assert_eq!(renewed[1], ledger::Renewal::Lost);
    assert!(matches!(renewed[2], ledger::Renewal::Renewed { .. }));
    assert_eq!(world.job(&new.job.id).await, proven(new.job), "only its own claim renews it");
    // The same where a row is held, and the lease is only looked at.
    let _held = world.database.hold_locks("select from finalization_jobs for update").await;
    let held = world.ledger.renew(&asked).await.unwrap();
    assert!(matches!(held[0], ledger::Renewal::Renewed { .. }));
    assert_eq!(held[1], ledger::Renewal::Lost);
    assert!(matches!(held[2], ledger::Renewal::Renewed { .. }));
}

#[tokio::test]
async fn renew_never_mixes_the_epochs_of_two_leases() {
    let world = World::new().await;
    // `a` was taken over by this very process, which has `b` since its first claim and `c` no more.
    let first = world.claimed("a").await;
    let (other, lost) = (world.claimed("b").await, world.claimed("c").await);
    for job in [&first.job.id, &lost.job.id] {
        world.age(job, Duration::seconds(31)).await;
    }
    let again = world.claim(&first.job.id).await;
    let elsewhere = world.claim(&lost.job.id).await;
    assert_eq!((again.job.epoch.0, elsewhere.job.epoch.0, other.job.epoch.0), (2, 2, 1));
    for asked in [[&again, &other, &lost], [&other, &lost, &again]] {
        let asked = asked.map(|claimed| claimed.lease_token());
        let expected = asked.clone().map(|token| token != lost.lease_token());
        let kept = async || -> Vec<bool> {
            let renewed = world.ledger.renew(&asked).await.unwrap();
            renewed.into_iter().map(|one| matches!(one, ledger::Renewal::Renewed { .. })).collect()
        };
        assert_eq!(kept().await, expected);
        let mut holder = world.database.hold_locks("select from finalization_jobs for update").await;
        assert_eq!(kept().await, expected, "of rows that are locked");
        sqlx::raw_sql("rollback").execute(&mut holder).await.unwrap();
    }
    assert_eq!(world.job(&elsewhere.job.id).await, proven(elsewhere.job), "only its own claim renews it");
}

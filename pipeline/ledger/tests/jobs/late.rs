//! Holders whose leases expired while they lived: late, and not crashed.

use chrono::Duration;
use job::{Epoch, State};
use ledger::{Answer, Renewal, Transition};

use crate::world::World;

const PROOFS: &str = "select count(*) from finalization_jobs, jsonb_array_elements(history) event where event ->> 'verb' = 'prove_alive'";

#[tokio::test]
async fn a_late_renewal_takes_back_the_crash_and_not_the_lease() {
    let world = World::new().await;
    let late = world.claimed("c").await;
    let id = &late.job.id;
    world.age(id, Duration::seconds(31)).await;
    world.ledger.reconcile(id).await.unwrap();
    let counted = world.view(id).await;
    assert_eq!((counted.job.crashes, counted.job.crashed_epoch), (1, Some(Epoch(1))));
    assert_eq!(world.ledger.renew(&[late.lease_token()]).await.unwrap(), [Renewal::Lost]);
    let proven = world.view(id).await;
    assert_eq!((proven.job.crashes, proven.job.crashed_epoch), (0, None));
    assert_eq!((&proven.job.state, proven.job.epoch), (&counted.job.state, Epoch(1)));
    assert_eq!(world.count(PROOFS).await, 1, "an operator sees it");
    assert_eq!(world.ledger.renew(&[late.lease_token()]).await.unwrap(), [Renewal::Lost]);
    assert_eq!(world.view(id).await.version, proven.version, "once");
    let released =
        world.ledger.settle(&late.lease_token(), Transition::Release { delay: Duration::zero() }, None).await;
    assert_eq!(released.unwrap(), Answer::Refused(job::Refusal::LeaseLost), "it stays fenced");
}

#[tokio::test]
async fn one_heartbeat_renews_the_new_lease_and_takes_back_the_crash_of_the_old_one() {
    let world = World::new().await;
    let old = world.claimed("c").await;
    let id = &old.job.id;
    world.age(id, Duration::seconds(31)).await;
    let new = world.claim(id).await;
    assert_eq!(world.view(id).await.job.crashes, 1);
    for tokens in [[old.lease_token(), new.lease_token()], [new.lease_token(), old.lease_token()]] {
        let renewals = world.ledger.renew(&tokens).await.unwrap();
        let lost = tokens.iter().position(|held| held.epoch == Epoch(1)).unwrap();
        assert_eq!(renewals[lost], Renewal::Lost);
        assert!(matches!(renewals[1 - lost], Renewal::Renewed { .. }));
        let job = world.view(id).await.job;
        assert!(matches!(&job.state, State::Leased(lease) if lease.epoch == Epoch(2)));
        assert_eq!(job.crashes, 0);
    }
    assert_eq!(world.count(PROOFS).await, 1);
}

#[tokio::test]
async fn the_last_word_of_a_run_waits_for_its_row_and_takes_the_crash_back() {
    let world = World::new().await;
    let late = world.claimed("c").await;
    let id = &late.job.id;
    world.ledger.prove_alive(&late.lease_token()).await.unwrap();
    assert_eq!(world.view(id).await.version, 2, "of a lease that is held, nothing is taken back");
    world.age(id, Duration::seconds(31)).await;
    let new = world.claim(id).await;
    let mut holder = world.database.hold_locks("select from finalization_jobs for update").await;
    let ledger = world.ledger.clone();
    let token = late.lease_token();
    let proof = tokio::spawn(async move { ledger.prove_alive(&token).await });
    world.database.until_somebody_waits().await;
    sqlx::raw_sql("rollback").execute(&mut holder).await.unwrap();
    proof.await.unwrap().unwrap();
    assert_eq!(world.job(id).await, job::Job { crashes: 0, crashed_epoch: None, ..new.job });
}

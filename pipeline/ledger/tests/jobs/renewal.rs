//! Renewals: all leases of a process in one statement, each under its own epoch; and workers that are late, but did
//! not crash.

use chrono::Duration;
use job::{Epoch, Job, State};
use ledger::{Answer, LeaseToken, Renewal, Transition};

use crate::world::{World, completion};

/// The job after its former worker renewed a lost lease: it was late, and did not crash.
fn proven(job: Job) -> Job {
    Job { crashes: 0, crashed_epoch: None, ..job }
}

#[tokio::test]
async fn renew_skips_locked_rows() {
    let world = World::new().await;
    let (one, other) = (world.claimed("a").await, world.claimed("b").await);
    let _held = world
        .database
        .hold_locks("select from finalization_jobs where conversation_id = 'a' for update")
        .await;
    let tokens = [one.lease_token(), other.lease_token()];
    let renewed = world.ledger.renew(&tokens).await.unwrap();
    let until = |claimed: &ledger::StoredJob| match &claimed.job.state {
        job::State::Leased(lease) => lease.expires_at,
        other => panic!("{other:?}"),
    };
    assert_eq!(renewed[0], Renewal::Renewed { until: until(&one) }, "it stands as it is");
    assert!(matches!(renewed[1], Renewal::Renewed { until: later } if later > until(&other)));
}

#[tokio::test]
async fn renew_answers_each_claim_by_its_own_epoch() {
    let world = World::new().await;
    let (old, other) = (world.claimed("a").await, world.claimed("b").await);
    world.age(&old.job.id, Duration::seconds(31)).await;
    let new = world.claim(&old.job.id).await;
    let newer = world.claimed("c").await;
    assert_eq!(world.ledger.renew(&[old.lease_token()]).await.unwrap(), [Renewal::Lost]);
    let tokens = [newer.lease_token(), old.lease_token(), other.lease_token()];
    let renewed = world.ledger.renew(&tokens).await.unwrap();
    assert!(matches!(renewed[0], Renewal::Renewed { .. }));
    assert_eq!(renewed[1], Renewal::Lost);
    assert!(matches!(renewed[2], Renewal::Renewed { .. }));
    assert_eq!(world.job(&new.job.id).await, proven(new.job), "only its own claim renews it");
    // The same with locked rows, where the leases are only read.
    let _held = world.database.hold_locks("select from finalization_jobs for update").await;
    let held = world.ledger.renew(&tokens).await.unwrap();
    assert!(matches!(held[0], Renewal::Renewed { .. }));
    assert_eq!(held[1], Renewal::Lost);
    assert!(matches!(held[2], Renewal::Renewed { .. }));
}

#[tokio::test]
async fn renew_never_mixes_the_epochs_of_two_leases() {
    let world = World::new().await;
    // This process took over `a` again, has `b` since its first claim, and lost `c`.
    let first = world.claimed("a").await;
    let (other, lost) = (world.claimed("b").await, world.claimed("c").await);
    for job in [&first.job.id, &lost.job.id] {
        world.age(job, Duration::seconds(31)).await;
    }
    let again = world.claim(&first.job.id).await;
    let elsewhere = world.claim(&lost.job.id).await;
    assert_eq!((again.job.epoch.0, elsewhere.job.epoch.0, other.job.epoch.0), (2, 2, 1));
    for tokens in [[&again, &other, &lost], [&other, &lost, &again]] {
        let tokens = tokens.map(|claimed| claimed.lease_token());
        let expected = tokens.clone().map(|token| token != lost.lease_token());
        let kept = async || -> Vec<bool> {
            let renewed = world.ledger.renew(&tokens).await.unwrap();
            renewed.into_iter().map(|one| matches!(one, Renewal::Renewed { .. })).collect()
        };
        assert_eq!(kept().await, expected);
        let mut holder = world.database.hold_locks("select from finalization_jobs for update").await;
        assert_eq!(kept().await, expected, "with locked rows");
        sqlx::raw_sql("rollback").execute(&mut holder).await.unwrap();
    }
    assert_eq!(world.job(&elsewhere.job.id).await, proven(elsewhere.job), "only its own claim renews it");
}

const PROOFS: &str = "select count(*) from finalization_jobs, jsonb_array_elements(history) event where event ->> 'verb' = 'prove_alive'";

#[tokio::test]
async fn late_renewal_undoes_the_crash_and_keeps_the_lease_lost() {
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
async fn renewal_of_two_epochs_renews_the_new_and_undoes_the_olds_crash() {
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
        let job = world.view(id).await.stored.job;
        assert!(matches!(&job.state, State::Leased(lease) if lease.epoch == Epoch(2)));
        assert_eq!(job.crashes, 0);
    }
    assert_eq!(world.count(PROOFS).await, 1);
}

#[tokio::test]
async fn prove_alive_waits_for_a_locked_row_and_undoes_the_crash() {
    let world = World::new().await;
    let late = world.claimed("c").await;
    let id = &late.job.id;
    world.ledger.prove_alive(&late.lease_token()).await.unwrap();
    assert_eq!(world.view(id).await.version, 2, "a valid lease has no crash to undo");
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

#[tokio::test]
async fn renew_answers_two_claims_of_one_job_separately() {
    let world = World::new().await;
    let old = world.claimed("c").await.lease_token();
    world.run("update finalization_jobs set epoch = 2, lease_worker = 'w2'").await;
    let new = LeaseToken { epoch: Epoch(2), ..old.clone() };
    for tokens in [[old.clone(), new.clone()], [new.clone(), old.clone()]] {
        for (token, renewal) in tokens.iter().zip(world.ledger.renew(&tokens).await.unwrap()) {
            match token.epoch {
                Epoch(2) => assert!(matches!(renewal, Renewal::Renewed { .. }), "{renewal:?}"),
                _ => assert_eq!(renewal, Renewal::Lost),
            }
        }
    }
    // The same with a locked row, where the leases are only read.
    let _held = world.database.hold_locks("select from finalization_jobs for update").await;
    let tokens = [old, new];
    let renewed = world.ledger.renew(&tokens).await.unwrap();
    assert!(matches!(renewed[..], [Renewal::Lost, Renewal::Renewed { .. }]), "{renewed:?}");
}

#[tokio::test]
async fn renew_answers_done_after_completion_and_run_limit_after_a_day() {
    let world = World::new().await;
    let (done, long) = (world.claimed("c").await, world.claimed("d").await);
    let result = completion(&done, job::Outcome::Kept, ledger::Results::default());
    world.ledger.complete(&result).await.unwrap();
    world
        .run(
            "update finalization_jobs set lease_claimed_at = now() - interval '1 day' where conversation_id = 'd'",
        )
        .await;
    let tokens = [done.lease_token(), long.lease_token()];
    assert_eq!(world.ledger.renew(&tokens).await.unwrap(), [Renewal::Done, Renewal::RunLimit]);
    // With locked rows the leases are only read; a claim that took the job over is not the one that lost it.
    world
        .run("update finalization_jobs set epoch = 2, lease_worker = 'w2' where conversation_id = 'd'")
        .await;
    let _held = world.database.hold_locks("select from finalization_jobs for update").await;
    assert_eq!(world.ledger.renew(&tokens).await.unwrap(), [Renewal::Done, Renewal::Lost]);
}

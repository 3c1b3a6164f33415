//! BYOK runs: slots, queued keys, back-off, and shutdown.

mod setup;

use std::{sync::atomic::Ordering, time::Duration};

use job::{FailureCode, Outcome, Queue, State, WorkerId};
use ledger::{NamedClaim, OperatorAction};
use operations::Operations;
use records::UserId;
use setup::{REFUSED, Setup, UNANSWERED, key, until_stopping};
use stages::Failure;
use worker::{Ended, Reservation, RunEvent, Settings};

use crate::{
    bench::{Bench, PATIENCE, slots},
    engines::Script,
};

#[tokio::test]
async fn byok_job_with_keys_is_leased_at_once_and_run_with_them() {
    let bench = Bench::new().await;
    let mut setup = Setup::open(bench.ledger.clone(), &Script::open());
    let place = setup.reserve();
    let (id, claimed) = bench.keyed("c1", place.claimant()).await;
    let claimed = claimed.expect("a slot is free");
    assert_eq!(
        (claimed.job.epoch, bench.job(&id).await.stored.job.state),
        (job::Epoch(1), claimed.job.state.clone())
    );

    place.run(claimed, key("sk-ann"));

    assert_eq!(setup.ended().await, Ended::Completed);
    assert_eq!(bench.job(&id).await.job.state, State::Completed { outcome: Outcome::Kept });
    assert_eq!(setup.used(), ["sk-ann"]);
    setup.until_shown("running", 0).await;
}

#[tokio::test]
async fn byok_runs_four_and_queues_the_fifth_in_memory() {
    let bench = Bench::new().await;
    let script = Script::held();
    let mut setup = Setup::open(bench.ledger.clone(), &script);
    let fifth = bench.fifth(&mut setup, "sk-ben").await;
    assert!(setup.shows("running", 4) && setup.shows("waiting", 1));
    assert_eq!(bench.job(&fifth).await.job.state, State::BlockedByok);

    script.gate.add_permits(5);
    for _ in 0..5 {
        assert_eq!(setup.ended().await, Ended::Completed);
    }
    assert!(bench.job(&fifth).await.job.state.is_terminal());
    assert_eq!(setup.used().last().unwrap(), "sk-ben");
}

#[tokio::test]
async fn byok_run_keeps_its_slot_until_its_commit() {
    let bench = Bench::new().await;
    let script = Script::held();
    let mut setup = Setup::open(bench.ledger.clone(), &script);
    let fifth = bench.fifth(&mut setup, "sk-ben").await;
    let held = "select from conversations where conversation_id <> 'c4' for update";
    let holder = bench.database.hold_locks(held).await;

    script.gate.add_permits(5);

    // They have nothing but their commit left to do.
    bench.database.until_somebody_waits().await;
    assert!(setup.shows("running", 4) && setup.shows("waiting", 1));
    drop(holder);
    for _ in 0..5 {
        assert_eq!(setup.ended().await, Ended::Completed);
    }
    assert!(bench.job(&fifth).await.job.state.is_terminal());
}

#[tokio::test]
async fn byok_run_renews_its_lease() {
    let bench = Bench::new().await;
    let script = Script::held();
    let settings = Settings { heartbeat: Duration::from_millis(20), ..slots(1) };
    let mut setup = Setup::open_by(bench.ledger.clone(), &script, settings);
    let place = setup.reserve();
    let (id, claimed) = bench.keyed("c1", place.claimant()).await;
    let claimed = claimed.unwrap();
    let ends = claimed.job.state.clone();
    place.run(claimed, key("sk-ann"));

    let renewed = async {
        while bench.job(&id).await.job.state == ends {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, renewed).await.expect("nobody renews it");

    assert!(matches!(bench.job(&id).await.job.state, State::Leased(_)));
    script.gate.add_permits(1);
    assert_eq!(setup.ended().await, Ended::Completed);
    let job = bench.job(&id).await.stored.job;
    assert_eq!((job.epoch, job.crashes), (job::Epoch(1), 0));
}

#[tokio::test]
async fn byok_hard_stop_waits_for_no_run() {
    let bench = Bench::new().await;
    let script = Script::held();
    let mut setup = Setup::open(bench.ledger.clone(), &script);
    bench.run_keyed(&setup, "sk-ann").await;
    script.until_asked().await;

    setup.hard.cancel();

    setup.stopped().await;
    assert_eq!(setup.ended().await, Ended::Lost);
}

#[tokio::test]
async fn byok_replaced_keys_are_not_sent() {
    let bench = Bench::new().await;
    let script = Script::held();
    let mut setup = Setup::open(bench.ledger.clone(), &script);
    let fifth = bench.fifth(&mut setup, "sk-old").await;
    // The task with the keys has its turn, and waits.
    tokio::task::yield_now().await;

    setup.reserve().wait(fifth.clone(), key("sk-new"));

    script.gate.add_permits(5);
    for _ in 0..5 {
        assert_eq!(setup.ended().await, Ended::Completed);
    }
    assert!(bench.job(&fifth).await.job.state.is_terminal());
    assert_eq!(setup.used(), ["sk-ann", "sk-ann", "sk-ann", "sk-ann", "sk-new"]);
}

#[tokio::test]
async fn byok_queue_holds_a_hundred() {
    let bench = Bench::new().await;
    let setup = Setup::open(bench.ledger.clone(), &Script::open());
    let reserve = |number: usize| setup.runs.reserve(&UserId::new(format!("u{}", number / 25)));
    let places: Vec<Reservation> = (0..104).map(|number| reserve(number).unwrap()).collect();
    assert_eq!(places.iter().filter(|place| place.claimant().is_some()).count(), 4);
    assert!(reserve(200).is_none());
    drop(places);
    assert!(reserve(200).is_some(), "a place that is not used is given back");
}

#[tokio::test]
async fn byok_refused_key_parks_the_job_and_a_better_one_finishes_it() {
    let bench = Bench::new().await;
    let mut setup = Setup::open(bench.ledger.clone(), &Script::open());
    let id = bench.run_keyed(&setup, REFUSED).await;
    assert_eq!(setup.ended().await, Ended::Parked);
    let job = bench.job(&id).await.stored.job;
    assert_eq!((job.state, job.last_code), (State::BlockedByok, Some(FailureCode::ByokKeyRejected)));
    assert_eq!(job.attempts, 0);

    setup.reserve().wait(id.clone(), key("sk-good"));

    assert_eq!(setup.ended().await, Ended::Completed);
    assert!(bench.job(&id).await.job.state.is_terminal());
    assert_eq!(setup.used(), [REFUSED, "sk-good"]);
}

#[tokio::test]
async fn byok_holder_claims_again_after_the_back_off() {
    let policy = job::Policy { back_off: [chrono::Duration::milliseconds(5); 4], ..job::Policy::default() };
    let bench = Bench::deciding_by(policy).await;
    let mut setup = Setup::open(bench.ledger.clone(), &Script::open());
    let id = bench.run_keyed(&setup, UNANSWERED).await;

    for _ in 0..5 {
        assert_eq!(setup.ended().await.failure(), Some(FailureCode::ModelTimeout));
    }
    let job = bench.job(&id).await.stored.job;
    assert_eq!(job.state, State::DeadLetter { code: FailureCode::ModelTimeout });
    assert_eq!((job.attempts, job.epoch), (5, job::Epoch(5)));
    setup.stop().await;
}

#[tokio::test]
async fn byok_holder_keeps_keys_while_a_circuit_is_open_at_no_cost() {
    let bench = Bench::new().await;
    let open = Failure::while_open(FailureCode::ModelUnavailable, Duration::from_millis(1));
    let mut setup = Setup::open(bench.ledger.clone(), &Script::failing(open));
    let id = bench.run_keyed(&setup, "sk-ann").await;

    assert_eq!(setup.ended().await.as_str(), "released");
    assert_eq!(setup.ended().await, Ended::Completed, "nobody had to bring the keys again");
    let job = bench.job(&id).await.stored.job;
    assert_eq!((job.epoch, job.attempts, job.runs), (job::Epoch(2), 0, 1));
    assert_eq!(setup.used(), ["sk-ann", "sk-ann"]);
}

#[tokio::test]
async fn byok_retry_after_lengthens_the_back_off() {
    let policy = job::Policy { back_off: [chrono::Duration::milliseconds(5); 4], ..job::Policy::default() };
    let bench = Bench::deciding_by(policy).await;
    let asked = Duration::from_secs(2);
    let failure = Failure::after(FailureCode::ModelRateLimited, Some(asked));
    let mut setup = Setup::open(bench.ledger.clone(), &Script::failing(failure));
    let id = bench.run_keyed(&setup, "sk-ann").await;
    assert_eq!(setup.ended().await.failure(), Some(FailureCode::ModelRateLimited));
    assert_eq!(setup.ended().await, Ended::Completed);
    let history = Operations::new(&bench.ledger).job_page(&id).await.unwrap().unwrap().history;
    let failed = history.iter().position(|event| event.code.is_some()).unwrap();
    let waited = (history[failed + 1].at - history[failed].at).to_std().unwrap();
    // The failure may be stored a moment after the wait has begun.
    assert!(waited >= asked / 2, "asked for {asked:?}, waited {waited:?}");
}

#[tokio::test]
async fn byok_newer_keys_end_the_back_off_of_older_ones() {
    let bench = Bench::new().await;
    let mut setup = Setup::open(bench.ledger.clone(), &Script::open());
    let id = bench.run_keyed(&setup, UNANSWERED).await;
    assert_eq!(setup.ended().await.failure(), Some(FailureCode::ModelTimeout));
    assert_eq!(bench.job(&id).await.job.state, State::BlockedByok, "the back-off of 30 s has begun");

    setup.reserve().wait(id.clone(), key("sk-good"));

    assert_eq!(setup.ended().await, Ended::Completed);
    assert_eq!(setup.used(), [UNANSWERED, "sk-good"]);
}

#[tokio::test]
async fn byok_holder_waits_for_a_lease_of_a_dead_process() {
    let policy = job::Policy { lease: chrono::Duration::seconds(3), ..job::Policy::default() };
    let bench = Bench::deciding_by(policy).await;
    let mut setup = Setup::open(bench.ledger.clone(), &Script::open());
    let dead = WorkerId("dead".to_owned());
    let (id, claimed) = bench.keyed("c1", Some(&dead)).await;
    assert!(claimed.is_some());
    assert!(matches!(
        bench.ledger.claim_with_keys(&id, &WorkerId("w".to_owned())).await.unwrap(),
        NamedClaim::Leased(_)
    ));

    setup.reserve().wait(id.clone(), key("sk-ann"));

    assert_eq!(setup.ended().await, Ended::Completed);
    let job = bench.job(&id).await.stored.job;
    assert_eq!((job.epoch, job.crashes, job.attempts), (job::Epoch(2), 1, 0));
}

#[tokio::test]
async fn byok_holder_keeps_keys_while_the_queue_is_paused() {
    let bench = Bench::new().await;
    let olga = OperatorAction::new("olga", "fire");
    assert!(Operations::new(&bench.ledger).pause(Queue::Creation, &olga).await.unwrap());
    let mut setup = Setup::open(bench.ledger.clone(), &Script::open());
    let place = setup.reserve();
    let (id, claimed) = bench.keyed("c1", place.claimant()).await;
    assert_eq!(claimed, None);
    place.wait(id, key("sk-ann"));
    // It had a slot: the waiting task saw the pause.
    setup.until_shown("waiting", 1).await;

    assert!(Operations::new(&bench.ledger).resume(Queue::Creation, &olga).await.unwrap());

    assert_eq!(setup.ended().await, Ended::Completed);
    assert_eq!(setup.used(), ["sk-ann"]);
}

#[tokio::test]
async fn byok_shutdown_parks_the_run_and_drops_queued_keys() {
    let bench = Bench::new().await;
    let script = Script::held();
    let mut setup = Setup::open(bench.ledger.clone(), &script);
    let mut ids = Vec::new();
    for number in 0..5 {
        let place = setup.reserve();
        let (id, claimed) = bench.keyed(&format!("c{number}"), place.claimant()).await;
        match claimed {
            Some(claimed) => {
                place.run(claimed, key("sk-ann"));
                setup.started("describe").await;
            }
            None => place.wait(id.clone(), key("sk-ann")),
        }
        ids.push(id);
    }
    let runs = setup.runs.clone();
    setup.soft.cancel();
    // The runs are stopped by a task of their own: a run that ends before it had its turn may complete.
    tokio::time::timeout(PATIENCE, until_stopping(&runs)).await.expect("a process that stops takes no keys");
    script.gate.add_permits(4);
    setup.stop().await;

    for id in &ids {
        let job = bench.job(id).await.stored.job;
        assert_eq!((&job.state, job.attempts, job.crashes), (&State::BlockedByok, 0, 0));
    }
    assert_eq!(script.asked.load(Ordering::SeqCst), 4);
}

#[tokio::test]
async fn byok_shutdown_waits_for_no_back_off() {
    let policy = job::Policy { back_off: [chrono::Duration::minutes(10); 4], ..job::Policy::default() };
    let bench = Bench::deciding_by(policy).await;
    let mut setup = Setup::open(bench.ledger.clone(), &Script::open());
    let id = bench.run_keyed(&setup, UNANSWERED).await;
    assert_eq!(setup.ended().await.failure(), Some(FailureCode::ModelTimeout));
    setup.until_shown("waiting", 1).await;

    setup.stop().await;

    let job = bench.job(&id).await.stored.job;
    assert_eq!((job.state, job.attempts), (State::BlockedByok, 1));
}

#[tokio::test]
async fn byok_keys_do_not_jump_the_queue() {
    let bench = Bench::new().await;
    let setup = Setup::open(bench.ledger.clone(), &Script::open());
    let (_, id) = bench.admit("c1").await;
    let before = bench.job(&id).await;
    let worker = WorkerId("w".to_owned());
    let over = NamedClaim::Over("not_keyed");
    assert_eq!(bench.ledger.claim_with_keys(&id, &worker).await.unwrap(), over);
    setup.reserve().wait(id.clone(), key("sk-ann"));
    setup.stop().await;
    assert_eq!(bench.job(&id).await, before);
}

#[tokio::test]
async fn byok_jobs_are_never_run_by_workers() {
    let bench = Bench::new().await;
    let (id, claimed) = bench.keyed("c1", None).await;
    assert_eq!(claimed, None);
    let script = Script::open();
    let mut working = bench.work(&script);
    let (_, other) = bench.admit("c2").await;
    let (claimed, end) = working.until_ended().await;
    assert_eq!((claimed.job.id, end), (other, Ended::Completed));
    let rest = working.stop().await;
    assert!(!rest.contains(&RunEvent::RunStarted), "{rest:?}");
    assert_eq!(bench.job(&id).await.job.state, State::BlockedByok);
}

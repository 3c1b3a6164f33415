//! Wake-ups of other processes: the session that receives them is one of its own, and what was written while it was gone is
//! looked for.

use std::{pin::pin, time::Duration};

use futures::FutureExt;
use job::{Outcome, Queue};
use ledger::{Ledger, Results, Settings};
use store::UserChange;
use tokio::task::JoinHandle;

use crate::world::{World, completion};

/// Far longer than a new session takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// A process that hears, and has looked for what it did not hear before.
async fn hearing(world: &World) -> (Ledger, JoinHandle<()>) {
    let options = world.database.options().application_name("hearer");
    let ledger = Ledger::new(options, Settings { connections: 1, ..Settings::default() });
    let hearer = ledger.clone();
    let hears = tokio::spawn(async move { hearer.db().carry_wakes().await });
    looked(&ledger).await;
    (ledger, hears)
}

/// Waits until a worker is woken.
async fn looked(ledger: &Ledger) {
    let rung = ledger.db().waker().jobs_waiting(Queue::Creation);
    tokio::time::timeout(PATIENCE, rung).await.expect("what was told while nobody heard is looked for");
}

#[tokio::test]
async fn a_session_that_the_server_ends_is_followed_by_a_look() {
    let world = World::new().await;
    let (ledger, hears) = hearing(&world).await;
    let ended = "select count(pg_terminate_backend(pid)) from pg_stat_activity \
        where datname = current_database() and application_name = 'hearer'";
    assert_eq!(world.count(ended).await, 1);
    looked(&ledger).await;
    hears.abort();
}

#[tokio::test]
async fn whoever_hears_takes_no_place_of_what_asks() {
    let world = World::new().await;
    let (ledger, hears) = hearing(&world).await;
    ledger.db().now().await.unwrap();
    hears.abort();
}

#[tokio::test]
async fn whatever_is_admitted_wakes_who_takes_from_its_queue() {
    let world = World::new().await;
    let rung = || {
        let rung = |queue| world.ledger.db().waker().jobs_waiting(queue).now_or_never().is_some();
        (rung(Queue::Creation), rung(Queue::Finalization))
    };
    assert_eq!(rung(), (false, false));
    let run = world.claimed("a").await;
    assert_eq!(rung(), (true, false), "a create");
    let completed = completion(&run, Outcome::Kept, Results::default());
    world.ledger.complete(&completed).await.unwrap();
    let deferred = world.deferred("b").await;
    assert_eq!(rung(), (false, false), "there is nothing to run");
    for (is_fresh, said) in [(true, "a finalize"), (false, "said once more")] {
        world.ledger.finalize(&world.ann, &deferred, None).await.unwrap().unwrap();
        assert_eq!(rung(), (false, is_fresh), "{said}");
    }
    for (is_fresh, said) in [(true, "processed again"), (false, "said once more")] {
        world.ledger.reprocess(&world.ann, &run.conversation_id, None).await.unwrap().unwrap();
        assert_eq!(rung(), (is_fresh, false), "{said}");
    }
}

#[tokio::test]
async fn whoever_waits_for_a_job_looks_again_when_its_person_is_marked() {
    let world = World::new().await;
    let mut settled = pin!(world.ledger.db().waker().some_job_settled());
    assert!(settled.as_mut().now_or_never().is_none());
    let change = async |change| world.ledger.change_user(&world.ann, &change).await.unwrap().unwrap();
    change(UserChange { language: Some("de".into()), ..UserChange::default() }).await;
    assert!(settled.as_mut().now_or_never().is_none(), "no job changed");
    change(UserChange { requires_byok: Some(true), ..UserChange::default() }).await;
    assert!(settled.now_or_never().is_some(), "one that waited may be parked");
}

#[tokio::test]
async fn what_one_process_rings_another_hears() {
    let world = World::new().await;
    let (ledger, hears) = hearing(&world).await;
    let rung = || tokio::time::timeout(PATIENCE, ledger.db().waker().jobs_waiting(Queue::Finalization));
    rung().await.expect("what was told while nobody heard is looked for");
    let other = world.other_process();
    let teller = other.clone();
    let tells = tokio::spawn(async move { teller.db().carry_wakes().await });
    for _ in 0..3 {
        other.db().waker().job_queued(Queue::Finalization);
        rung().await.expect("others are told");
    }
    hears.abort();
    tells.abort();
}

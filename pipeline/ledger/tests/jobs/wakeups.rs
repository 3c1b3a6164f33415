//! Wake-ups between processes: one dedicated session receives them, and a poll follows whenever it was reconnected.

use std::{pin::pin, time::Duration};

use futures::FutureExt;
use job::{Outcome, Queue};
use ledger::{Ledger, Results, Settings};
use store::UserChange;
use tokio::task::JoinHandle;

use crate::world::{World, completion};

/// Far longer than a reconnection takes.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A process that listens, and has polled after it connected.
async fn listening(world: &World) -> (Ledger, JoinHandle<()>) {
    let options = world.database.options().application_name("listener");
    let ledger = Ledger::new(options, Settings { connections: 1, ..Settings::default() });
    let listener = ledger.clone();
    let listener_task = tokio::spawn(async move { listener.db().carry_wakes().await });
    until_woken(&ledger).await;
    (ledger, listener_task)
}

/// Waits until a worker is woken.
async fn until_woken(ledger: &Ledger) {
    let woken = ledger.db().waker().jobs_waiting(Queue::Creation);
    tokio::time::timeout(TIMEOUT, woken).await.expect("a poll follows the connection");
}

#[tokio::test]
async fn reconnected_listener_wakes_workers_to_poll() {
    let world = World::new().await;
    let (ledger, listener_task) = listening(&world).await;
    let ended = "select count(pg_terminate_backend(pid)) from pg_stat_activity \
        where datname = current_database() and application_name = 'listener'";
    assert_eq!(world.count(ended).await, 1);
    until_woken(&ledger).await;
    listener_task.abort();
}

#[tokio::test]
async fn listener_takes_no_connection_of_the_pool() {
    let world = World::new().await;
    let (ledger, listener_task) = listening(&world).await;
    ledger.db().now().await.unwrap();
    listener_task.abort();
}

#[tokio::test]
async fn admission_wakes_the_workers_of_its_queue() {
    let world = World::new().await;
    let woken = || {
        let woken = |queue| world.ledger.db().waker().jobs_waiting(queue).now_or_never().is_some();
        (woken(Queue::Creation), woken(Queue::Finalization))
    };
    assert_eq!(woken(), (false, false));
    let run = world.claimed("a").await;
    assert_eq!(woken(), (true, false), "a create");
    let completed = completion(&run, Outcome::Kept, Results::default());
    world.ledger.complete(&completed).await.unwrap();
    let deferred = world.deferred("b").await;
    assert_eq!(woken(), (false, false), "there is nothing to run");
    for (is_fresh, admission) in [(true, "a finalize"), (false, "repeated")] {
        world.ledger.finalize(&world.ann, &deferred, None, None).await.unwrap().unwrap();
        assert_eq!(woken(), (false, is_fresh), "{admission}");
    }
    for (is_fresh, admission) in [(true, "processed again"), (false, "repeated")] {
        world.ledger.reprocess(&world.ann, &run.conversation_id, None).await.unwrap().unwrap();
        assert_eq!(woken(), (is_fresh, false), "{admission}");
    }
}

#[tokio::test]
async fn marking_a_user_requires_byok_wakes_those_waiting_for_a_job() {
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
async fn wakeup_reaches_other_processes() {
    let world = World::new().await;
    let (ledger, listener_task) = listening(&world).await;
    let woken = || tokio::time::timeout(TIMEOUT, ledger.db().waker().jobs_waiting(Queue::Finalization));
    woken().await.expect("a poll follows the connection");
    let other = world.other_process();
    let sender = other.clone();
    let sender_task = tokio::spawn(async move { sender.db().carry_wakes().await });
    for _ in 0..3 {
        other.db().waker().job_queued(Queue::Finalization);
        woken().await.expect("other processes are woken");
    }
    listener_task.abort();
    sender_task.abort();
}

//! Wake-ups of other processes: the session that hears them is one of its own, and what was told while it was away is
//! looked for.

use std::time::Duration;

use job::Queue;
use ledger::{Ledger, Settings};
use tokio::task::JoinHandle;

use crate::world::World;

/// Far longer than a new session takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// A process that hears, and has looked for what it did not hear before.
async fn hearing(world: &World) -> (Ledger, JoinHandle<()>) {
    let options = world.database.options().application_name("hearer");
    let ledger = Ledger::new(options, Settings { connections: 1, ..Settings::default() });
    let hearer = ledger.clone();
    let hears = tokio::spawn(async move { hearer.carry_wakes().await });
    looked(&ledger).await;
    (ledger, hears)
}

/// Waits until somebody is told to look.
async fn looked(ledger: &Ledger) {
    let rung = ledger.waker().rung(Queue::Creation);
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
    ledger.now().await.unwrap();
    hears.abort();
}

#[tokio::test]
async fn what_one_process_rings_another_hears() {
    let world = World::new().await;
    let (ledger, hears) = hearing(&world).await;
    let rung = || tokio::time::timeout(PATIENCE, ledger.waker().rung(Queue::Finalization));
    rung().await.expect("what was told while nobody heard is looked for");
    let other = world.other_process();
    let teller = other.clone();
    let tells = tokio::spawn(async move { teller.carry_wakes().await });
    for _ in 0..3 {
        other.waker().ring(Queue::Finalization);
        rung().await.expect("others are told");
    }
    hears.abort();
    tells.abort();
}

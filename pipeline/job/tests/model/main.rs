//! Every interleaving of a small system around `decide`, checked exhaustively (DESIGN §3, "Proof").
//!
//! Two workers, a queue that loses, doubles and delays, crashes, a reconciler, an operator, a user and a
//! clock. Each verb reads and decides in one action and stores in another, because that is where races live.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may stop at a surprise")]

mod act;
mod properties;
mod system;

use act::World;
use stateright::{Checker, HasDiscoveries, Model};
use system::{Actor, Budget};

const WORKERS: [Actor; 2] = [Actor::Worker(0), Actor::Worker(1)];
const NOTHING_FREE: Budget = Budget { replays: 0, orders: 0, releases: 0, parks: 0, lost_tasks: 0 };

/// Two workers, a bad queue, the reconciler.
const QUEUE: World = World {
    compare_and_set: true,
    requires_keys: false,
    claims: &[false],
    actors: &[WORKERS[0], WORKERS[1], Actor::Reconciler],
    budget: Budget { releases: 1, lost_tasks: 1, ..NOTHING_FREE },
    horizon: 4,
    expected: &[
        "kept",
        "kept after a crash and a failure",
        "kept after its task was lost",
        "two believe that they run it",
        "a completion races with a take-over",
        "kept after a crash was taken back",
        "poisoned after a crash was taken back",
        "poisoned",
        "out of attempts",
    ],
};

/// The operator replays, the user deletes.
const OUTSIDE: World = World {
    claims: &[false, true],
    actors: &[WORKERS[0], WORKERS[1], Actor::Reconciler, Actor::Operator, Actor::User],
    budget: Budget { replays: 1, ..NOTHING_FREE },
    horizon: 3,
    expected: &["kept after a replay", "withdrawn under a run", "marked under a keyless run"],
    ..QUEUE
};

/// The operator ends waits and jobs while workers run them, and may replay what was cancelled.
const ORDERS: World = World {
    actors: &[WORKERS[0], WORKERS[1], Actor::Reconciler, Actor::Operator],
    budget: Budget { replays: 1, orders: 2, ..NOTHING_FREE },
    horizon: 3,
    expected: &["kept by a hurried run", "cancelled under a run", "kept after a cancellation"],
    ..QUEUE
};

/// A job that requires keys from its admission on.
const KEYED: World = World {
    requires_keys: true,
    claims: &[false, true],
    actors: &[WORKERS[0], WORKERS[1], Actor::Reconciler, Actor::Operator],
    budget: Budget { replays: 1, releases: 1, parks: 1, ..NOTHING_FREE },
    horizon: 3,
    expected: &["kept with keys", "kept after a replay", "abandoned"],
    ..QUEUE
};

/// Looks at every reachable state; only a broken rule ends the search early.
fn check(world: World) {
    world.checker().threads(1).spawn_bfs().join().assert_properties();
}

#[test]
fn model_no_interleaving_of_workers_and_a_faulty_queue_breaks_the_rules() {
    check(QUEUE);
}

#[test]
fn model_no_interleaving_with_operators_and_users_breaks_the_rules() {
    check(OUTSIDE);
}

#[test]
fn model_no_interleaving_with_operator_commands_breaks_the_rules() {
    check(ORDERS);
}

#[test]
fn model_no_interleaving_of_keyed_runs_breaks_the_rules() {
    check(KEYED);
}

#[test]
fn model_without_compare_and_set_finds_a_revision_kept_twice() {
    let careless = World { compare_and_set: false, ..QUEUE };
    let checker = careless
        .checker()
        .finish_when(HasDiscoveries::AnyOf([properties::KEPT_ONCE].into()))
        .spawn_bfs()
        .join();
    assert!(checker.discovery(properties::KEPT_ONCE).is_some());
}

//! Deterministic simulation: dispatcher, workers, lease watch, reconciler, operator and users around `decide`, with a
//! seeded scheduler and simulated time. The model explores all of a small world; this goes deep into larger ones.
//!
//! Every verb reads and decides at one moment and stores, by compare-and-set, at a later one. Between them processes
//! die, freeze and come back, answers are lost after the commit, the database goes away, and tasks are lost, doubled,
//! late, or cannot be written. The same seed is the same run: `SIMULATION_SEED=N cargo test -p job --test simulation`
//! replays one and prints what happened; `SIMULATION_SEEDS=100000` tries more of them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may stop at a surprise")]

mod actors;
mod books;
mod chaos;
mod clients;
mod rules;
mod sim;
mod store;

use sim::{Config, Sim};

/// How many worlds are lived through unless the environment says otherwise.
const SEEDS: u64 = 2_000;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn simulation_thousands_of_seeds_keep_every_rule_and_finish() {
    let config = Config::default();
    if let Some(seed) = number("SIMULATION_SEED") {
        let mut sim = Sim::new(seed, Config { traced: true, ..config });
        let lived = sim.live();
        println!("{}", sim.trace.join("\n"));
        lived.unwrap_or_else(|breach| panic!("seed {seed}: {breach}"));
        return;
    }
    let mut seen = books::Seen::default();
    for seed in 0..number("SIMULATION_SEEDS").unwrap_or(SEEDS) {
        let mut sim = Sim::new(seed, config);
        if let Err(breach) = sim.live() {
            panic!("{breach}\nreplay it: SIMULATION_SEED={seed} cargo test -p job --test simulation");
        }
        seen.add(&sim.seen);
    }
    println!("{seen:?}");
    seen.is_rich();
}

#[test]
fn simulation_is_deterministic_by_seed() {
    let trace = |seed| {
        let mut sim = Sim::new(seed, Config { traced: true, ..Config::default() });
        sim.live().unwrap();
        sim.trace
    };
    assert_eq!(trace(11), trace(11));
    assert_ne!(trace(11), trace(12));
}

#[test]
fn simulation_without_compare_and_set_finds_a_broken_rule() {
    let careless = Config { compare_and_set: false, ..Config::default() };
    assert!((0..200).any(|seed| Sim::new(seed, careless).live().is_err()));
}

#[test]
fn simulation_without_a_reconciler_finds_jobs_that_never_end() {
    let blind = Config { watched: false, ..Config::default() };
    assert!((0..50).any(|seed| Sim::new(seed, blind).live().is_err()));
}

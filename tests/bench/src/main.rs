//! What the service costs, measured: every table prints the durability settings of the server it ran on and
//! refuses to run with one of them off; every figure stands beside a floor or a peer from the same run.
//!
//! `cargo run --release -p bench` runs all tables on a private, durable PostgreSQL; `-- admission drain deliveries
//! latency history lists text assistant` picks some. `pgbench` comes with the server's programs; the peer is built on the way. `-- peers` is
//! a run of its own, beside queues that need npm and Python too; `-- peers --help` says how much of it may be had. `-- neighbours SECONDS`
//! measures what a quiet user notices of one who does its worst; `-- live` measures live sessions on the real binary, and
//! `-- live --help` says how many.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a benchmark that stumbles must stop loudly"
)]

mod admission;
mod assistant;
mod deliveries;
mod drain;
mod figures;
mod handover;
mod history;
mod http;
mod idle;
mod latency;
mod lists;
mod live;
mod operators;
mod peers;
mod setup;
mod text;

use clap::Parser;
use mimalloc::MiMalloc;
use setup::Setup;

/// The service's own.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

const TABLES: [&str; 8] =
    ["admission", "drain", "deliveries", "latency", "history", "lists", "text", "assistant"];

#[tokio::main]
async fn main() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    match &wanted[..] {
        [first, way, ..] if first == "adapter" => return peers::adapter(way).await,
        [first, sizes @ ..] if first == "peers" => {
            return beside_peers(peers::Sizes::parse_from(sizes)).await;
        }
        [first, sizes @ ..] if first == "live" => {
            return with_live_sessions(&live::Sizes::parse_from(["live".to_owned()].iter().chain(sizes)))
                .await;
        }
        [first, seconds @ ..] if first == "neighbours" => return beside_a_neighbour(seconds).await,
        _ => {}
    }
    if let Some(unknown) = wanted.iter().find(|name| !TABLES.contains(&name.as_str())) {
        eprintln!(
            "no table is called {unknown}; there are {}, and live, peers and neighbours",
            TABLES.join(", ")
        );
        std::process::exit(2);
    }
    let is_wanted = |table: &str| wanted.is_empty() || wanted.iter().any(|name| name == table);
    let setup = Setup::build().await;
    println!("{}\n", setup.settings().await);
    if is_wanted("admission") {
        admission::table(&setup).await;
    }
    if is_wanted("drain") {
        drain::table(&setup).await;
    }
    if is_wanted("deliveries") {
        deliveries::table(&setup).await;
        handover::table(&setup).await;
    }
    if is_wanted("latency") {
        latency::table(&setup).await;
    }
    if is_wanted("history") {
        history::table(&setup).await;
    }
    if is_wanted("lists") {
        lists::table(&setup).await;
    }
    if is_wanted("text") {
        text::table();
    }
    if is_wanted("assistant") {
        assistant::table(&setup).await;
    }
    setup.tear_down().await;
}

/// Measures the real binary in a server of the chaos kit's. Exits with 1 where a quiet user notices the other one.
async fn beside_a_neighbour(arguments: &[String]) {
    let seconds = arguments.first().map_or(Ok(10), |seconds| seconds.parse::<u64>());
    let Ok(seconds) = seconds else {
        eprintln!(
            "neighbours takes the seconds of each phase, a whole number, and words of the phases to run"
        );
        std::process::exit(2);
    };
    let measured = chaos::neighbours(seconds.clamp(3, 60), arguments.get(1..).unwrap_or_default()).await;
    println!("{measured}");
    if !measured.is_clean() {
        std::process::exit(1);
    }
}

async fn with_live_sessions(sizes: &live::Sizes) {
    let setup = Setup::build().await;
    println!("{}\n", setup.settings().await);
    live::table(&setup, sizes).await;
    setup.tear_down().await;
}

async fn beside_peers(sizes: peers::Sizes) {
    let setup = Setup::build().await;
    println!("{}", setup.settings().await);
    peers::table(&setup, &sizes).await;
    setup.tear_down().await;
}

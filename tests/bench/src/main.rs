//! What the ledger costs, measured: every table prints the durability settings of the server it ran on and
//! refuses to run with one of them off; every figure stands beside a floor from the same run.
//!
//! `cargo run --release -p bench` runs all tables on a private, durable PostgreSQL.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a benchmark that stumbles must stop loudly"
)]

mod drain;
mod history;
mod house;
mod idle;
mod latency;

use house::House;

#[tokio::main]
async fn main() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let house = House::build().await;
    println!("{}\n", house.settings().await);
    drain::table(&house).await;
    latency::table(&house).await;
    history::table(&house).await;
    house.tear_down().await;
}

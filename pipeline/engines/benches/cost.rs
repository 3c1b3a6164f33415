//! What a conversation costs, and how long it takes when every call takes a second: the tables of
//! `docs/COST.md`. Run with `cargo bench -p engines --bench cost`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    dead_code,
    reason = "a program for developers, with parts of a test"
)]

#[path = "../tests/openai/cost.rs"]
mod cost;
#[path = "../tests/openai/pages.rs"]
mod pages;
#[path = "../tests/openai/world.rs"]
mod world;

use std::time::Duration;

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        println!("{}", cost::table(&cost::rows().await));
        let latency = Duration::from_secs(1);
        let (took, sum) = cost::wall(latency).await;
        println!("every call takes {latency:?}: one conversation with two apps takes {took:.2?}, its calls {sum:.2?} in all");
    });
}

//! `cargo run --release -p chaos --example attack`: clients that take what they can, and what a healthy one notices. Exits with 1
//! when the service holds too much memory, or answers too late or not at all.

use std::process::ExitCode;

use clap::Parser;

/// Attacks the real binary from loopback addresses and prints memory and latencies.
#[derive(Debug, Parser)]
#[command(name = "attack")]
struct Words {
    /// How long each attack lasts, in seconds.
    #[arg(long, default_value_t = 10)]
    seconds: u64,
}

#[tokio::main]
async fn main() -> ExitCode {
    let attacked = chaos::attack(Words::parse().seconds.clamp(1, 60)).await;
    println!("{attacked}");
    if attacked.is_clean() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

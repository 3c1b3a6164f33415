//! `cargo run -p chaos -- --minutes N --seed S`: injects faults under load and reports the result. Exits with 1
//! when a rule was violated.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use chaos::{Dispatch, Plan};
use clap::Parser;

/// Kills, freezes, restarts and lies, under load, and checks afterwards that nothing was lost and nothing came twice.
#[derive(Debug, Parser)]
#[command(name = "chaos")]
struct Words {
    /// How long faults are injected, in minutes; fractions are fine.
    #[arg(long, default_value_t = 2.0)]
    minutes: f64,
    /// Draws the faults and the load; the same seed gives the same scenario.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Who carries jobs to the processes: `postgres` or `cloud_tasks` (the emulator, with faults of its own).
    #[arg(long, default_value = "postgres", value_parser = ["postgres", "cloud_tasks"])]
    dispatch: String,
    /// Processes of the service.
    #[arg(long, default_value_t = 3)]
    processes: usize,
    /// Clients at once.
    #[arg(long, default_value_t = 6)]
    clients: usize,
    /// Lease of the processes in seconds (the service's default is 30).
    #[arg(long, default_value_t = 3)]
    lease: u64,
    /// Heartbeat of the processes in seconds (the service's default is 10).
    #[arg(long, default_value_t = 1)]
    heartbeat: u64,
    /// Failures that end in a dead letter (the service's default is 5).
    #[arg(long, default_value_t = 2)]
    max_attempts: u32,
    /// Only these faults, by name.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Keeps data, logs and the kit's tables in this directory.
    #[arg(long)]
    keep: Option<PathBuf>,
    /// Prints the report alone.
    #[arg(long)]
    quiet: bool,
}

#[tokio::main]
async fn main() -> ExitCode {
    let words = Words::parse();
    let dispatch = if words.dispatch == "cloud_tasks" { Dispatch::CloudTasks } else { Dispatch::Postgres };
    let plan = Plan {
        dispatch,
        processes: words.processes.max(1),
        clients: words.clients.max(1),
        lease: (words.lease, words.heartbeat),
        max_attempts: words.max_attempts,
        only: words.only,
        keep: words.keep,
        talk: !words.quiet,
        ..Plan::new(Duration::from_secs_f64(words.minutes * 60.0), words.seed)
    };
    let report = chaos::run(&plan).await;
    println!("{report}");
    if report.is_clean() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

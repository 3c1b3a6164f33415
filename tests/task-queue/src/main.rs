//! The emulator from a shell: `cargo run -p task-queue -- --port 8123`.

use std::time::Duration;

use clap::Parser;
use task_queue::{Emulator, INVOKER, Options, QUEUE};
use tokio::net::TcpListener;

/// An emulator of Cloud Tasks, controlled under `/emulator`.
#[derive(Parser)]
struct Arguments {
    /// Where it listens, on this machine.
    #[arg(long, default_value_t = 8123)]
    port: u16,
    /// Deliveries at once.
    #[arg(long, default_value_t = 4)]
    concurrency: usize,
    /// Deliveries of one task.
    #[arg(long, default_value_t = 5)]
    max_attempts: u32,
    /// The wait before a second delivery, in milliseconds; it doubles.
    #[arg(long, default_value_t = 1_000)]
    min_backoff_ms: u64,
    /// The longest of these waits, in milliseconds.
    #[arg(long, default_value_t = 60_000)]
    max_backoff_ms: u64,
    /// Without this access token no task is created.
    #[arg(long)]
    access_token: Option<String>,
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let arguments = Arguments::parse();
    let listener = TcpListener::bind(("127.0.0.1", arguments.port)).await?;
    let options = Options {
        concurrency: arguments.concurrency,
        max_attempts: arguments.max_attempts,
        min_backoff: Duration::from_millis(arguments.min_backoff_ms),
        max_backoff: Duration::from_millis(arguments.max_backoff_ms),
        access_token: arguments.access_token,
        ..Options::default()
    };
    let emulator = Emulator::listen(listener, options)?;
    println!("a task queue at {}", emulator.url());
    println!("  LISTEN_FINALIZATION_DISPATCH_MODE=cloud_tasks \\");
    println!("  LISTEN_FINALIZATION_TASKS_API_URL={} \\", emulator.url());
    println!("  LISTEN_FINALIZATION_TASKS_QUEUE={QUEUE} \\");
    println!(
        "  LISTEN_FINALIZATION_TASKS_HANDLER_URL=http://127.0.0.1:8080/v1/conversation-finalization-jobs/run \\"
    );
    println!("  LISTEN_FINALIZATION_TASKS_INVOKER_SA={INVOKER} \\");
    println!("  LISTEN_FINALIZATION_TASKS_JWKS_URL={} \\", emulator.keys_url());
    println!("  LISTEN_FINALIZATION_TASKS_CREDENTIALS=none listen serve");
    println!("  curl {}/emulator/tasks", emulator.url());
    tokio::signal::ctrl_c().await
}

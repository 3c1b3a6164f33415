//! The mock from a shell: `cargo run -p mock-model -- --port 9090`.

use std::time::Duration;

use clap::Parser;
use mock_model::{Manners, Mock, Options};
use tokio::net::TcpListener;

/// A model server that behaves, and misbehaves on command.
///
/// Controlled over HTTP: POST /mock/faults [{"kind": "rate_limited", "retry_after": 7, "stage":
/// "describe", "times": 2}], DELETE /mock/faults, GET /mock/calls, GET /mock/counts, DELETE /mock.
/// Kinds: slow {millis}, rate_limited {retry_after}, status {status}, truncated, cut_silently,
/// wrong_schema, partial, refusal, filtered, hang, drop, page, obey.
#[derive(Parser)]
struct Arguments {
    /// The port on this machine; 0 takes a free one.
    #[arg(long, default_value_t = 9090)]
    port: u16,
    /// Milliseconds that every call takes.
    #[arg(long, default_value_t = 0)]
    latency_ms: u64,
    /// The most tokens that a prompt may have; 0: no limit.
    #[arg(long, default_value_t = 0)]
    context_tokens: u64,
    /// A key that is let in; without one, any is.
    #[arg(long)]
    key: Vec<String>,
    /// Refuses JSON schemas.
    #[arg(long)]
    no_schema: bool,
    /// Refuses every JSON mode.
    #[arg(long)]
    no_json_mode: bool,
    /// Refuses `max_completion_tokens`.
    #[arg(long)]
    only_max_tokens: bool,
    /// Refuses `temperature`.
    #[arg(long)]
    no_temperature: bool,
    /// Refuses `tools`.
    #[arg(long)]
    no_tools: bool,
    /// Does not say which field it refuses.
    #[arg(long)]
    taciturn: bool,
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let arguments = Arguments::parse();
    let listener = TcpListener::bind(("127.0.0.1", arguments.port)).await?;
    let mock = Mock::listen(listener, options(arguments))?;
    println!("a mock model server at {}", mock.base_url());
    println!("  LISTEN_OPENAI_BASE_URL={} LISTEN_OPENAI_MODEL=mock listen dev", mock.base_url());
    println!("  curl http://{}/mock/counts", mock.addr());
    tokio::signal::ctrl_c().await
}

fn options(arguments: Arguments) -> Options {
    Options {
        latency: Duration::from_millis(arguments.latency_ms),
        context_tokens: arguments.context_tokens,
        keys: arguments.key,
        manners: Manners {
            no_schema: arguments.no_schema,
            no_json_mode: arguments.no_json_mode,
            only_max_tokens: arguments.only_max_tokens,
            no_temperature: arguments.no_temperature,
            no_tools: arguments.no_tools,
            taciturn: arguments.taciturn,
        },
    }
}

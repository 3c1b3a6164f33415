//! `listen`: the binary. It parses, wires the rooms together, runs, and decides nothing.

mod admin;
mod cli;
mod commands;
mod config;
mod console;
mod embedded;
mod exit;
mod keyed;
mod lifecycle;
mod presence;
mod telemetry;
mod wiring;

use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = match cli::parse() {
        Ok(cli) => cli,
        Err(refusal) => return exit::usage(&refusal),
    };
    telemetry::start(&cli.logs, cli.command.default_log());
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return exit::report(&anyhow::Error::new(error).context("starting the runtime")),
    };
    match runtime.block_on(commands::run(cli.command)) {
        Ok(code) => code,
        Err(error) => exit::report(&error),
    }
}

//! `listen`: the binary. It parses, wires the rooms together, runs, and decides nothing.

#![allow(
    rustdoc::broken_intra_doc_links,
    rustdoc::bare_urls,
    reason = "help texts of the command line: units stand in brackets, and addresses are what is typed"
)]

mod admin;
mod alerts;
mod app_servers;
mod chat_apps;
mod cli;
mod commands;
mod config;
mod connections;
mod console;
mod database;
mod demo;
mod dev;
mod durations;
mod embedded;
mod exit;
mod explained;
mod hex;
mod lifecycle;
mod lingering;
mod listener;
mod lists;
mod log_writer;
mod model_servers;
mod notify;
mod over_shards;
mod pooler;
mod ports;
mod process;
mod process_report;
mod schedule;
mod schema;
mod serve;
mod speech;
mod telemetry;
mod terminal;
mod traces;
mod wiring;

use std::process::ExitCode;

use lifecycle::Interruption;
use mimalloc::MiMalloc;
use telemetry::Telemetry;
use traces::Export;

/// Answers are many small allocations on every thread, and the system's allocator makes threads wait for each other.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return exit::report(&anyhow::Error::new(error).context("starting the runtime")),
    };
    // Before anything is read: a service may be asked to stop as soon as it was started.
    let inside = runtime.enter();
    let signals = cli::runs_until_a_signal().then(Interruption::listen).transpose();
    drop(inside);
    let signals = match signals {
        Ok(signals) => signals,
        Err(error) => return exit::report(&anyhow::Error::new(error).context("listening for signals")),
    };
    let cli = match cli::parse() {
        Ok(cli) => cli,
        Err(refusal) => return exit::usage(&refusal),
    };
    let (command, is_service) = (&cli.command, signals.is_some());
    let telemetry =
        telemetry::start(&cli.logs, command.default_log(), command.traces(), runtime.handle(), is_service);
    let Telemetry { export, log } = match telemetry {
        Ok(telemetry) => telemetry,
        Err(error) => return exit::report(&error),
    };
    let spans = export.as_ref().map(Export::counts);
    let ended = runtime.block_on(cli.run(signals, spans));
    // The runtime is still there: the last spans go out on it.
    if let Some(export) = export {
        export.close();
    }
    // Before the last words, which are no lines of it.
    drop(log);
    ended.unwrap_or_else(|error| exit::report(&error))
}

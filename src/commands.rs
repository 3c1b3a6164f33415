//! The subcommands, a file each.

pub(crate) mod apps;
pub(crate) mod audit;
mod completions;
pub(crate) mod config;
pub(crate) mod consent;
pub(crate) mod demo;
pub(crate) mod dev;
pub(crate) mod docs;
pub(crate) mod doctor;
pub(crate) mod explain;
pub(crate) mod folders;
pub(crate) mod healthcheck;
pub(crate) mod ids;
pub(crate) mod jobs;
pub(crate) mod keys;
pub(crate) mod live;
pub(crate) mod man;
pub(crate) mod migrate;
mod named;
mod openapi;
mod outage;
mod over_shards;
pub(crate) mod paging;
mod progress;
pub(crate) mod replays;
pub(crate) mod secrets;
pub(crate) mod serve;
mod stdout;
pub(crate) mod table;
pub(crate) mod users;
pub(crate) mod verify;
pub(crate) mod webhooks;

use std::process::ExitCode;

use crate::{
    cli::{Cli, Command},
    traces::SpanCounts,
};

/// Runs one command to its end. `spans` are counted where traces are on.
///
/// # Errors
/// What the command could not do; `exit` knows its code.
pub(crate) async fn run(cli: Cli, spans: Option<SpanCounts>) -> anyhow::Result<ExitCode> {
    match cli.command {
        Command::Demo(demo) => demo::run(*demo).await,
        Command::Dev(dev) => dev::run(*dev, spans).await,
        Command::Serve(config) => serve::run(*config, spans).await,
        Command::Migrate(migrate) => migrate::run(*migrate).await,
        Command::Jobs(jobs) => jobs::run(jobs).await,
        Command::Replays(replays) => replays::run(replays).await,
        Command::Webhooks(webhooks) => webhooks::run(webhooks).await,
        Command::Live(live) => live::run(live).await,
        Command::Audit(audit) => audit::run(audit).await,
        Command::Verify(verify) => verify::run(verify).await,
        Command::Doctor(doctor) => doctor::run(doctor).await,
        Command::Explain(explain) => explain::run(&explain),
        Command::Healthcheck(check) => healthcheck::run(check).await,
        Command::Users(users) => users::run(users).await,
        Command::Folders(folders) => folders::run(folders).await,
        Command::Apps(apps) => apps::run(*apps).await,
        Command::Secrets(secrets) => secrets::run(secrets).await,
        Command::Keys(keys) => keys::run(keys).await,
        Command::Config(show) => config::run(&show, &cli.settings, &cli.logs),
        Command::Openapi => openapi::run(),
        Command::Docs(docs) => docs::run(&docs),
        Command::Completions { shell } => completions::run(shell),
        Command::Man(man) => man::run(&man),
    }
}

//! The subcommands, a file each.

mod completions;
mod config;
pub(crate) mod demo;
mod dev;
pub(crate) mod folders;
pub(crate) mod jobs;
pub(crate) mod keys;
mod migrate;
mod openapi;
pub(crate) mod serve;
pub(crate) mod table;
pub(crate) mod users;

use std::process::ExitCode;

use crate::cli::Command;

/// Runs one command to its end.
///
/// # Errors
/// What the command could not do; `exit` knows its code.
pub(crate) async fn run(command: Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Demo(demo) => demo::run(*demo).await,
        Command::Dev(config) => dev::run(*config).await,
        Command::Serve(config) => serve::run(*config).await,
        Command::Migrate(config) => migrate::run(*config).await,
        Command::Jobs(jobs) => jobs::run(jobs).await,
        Command::Users(users) => users::run(users).await,
        Command::Folders(folders) => folders::run(folders).await,
        Command::Keys(keys) => keys::run(keys).await,
        Command::Config(config) => Ok(config::run(&config)),
        Command::Openapi => openapi::run(),
        Command::Completions { shell } => Ok(completions::run(shell)),
    }
}

//! `listen migrate`: the schema, forward only.

use std::process::ExitCode;

use ledger::{Ledger, Settings};

use crate::{config::Config, wiring::database};

pub(super) async fn run(config: Config) -> anyhow::Result<ExitCode> {
    let ledger = Ledger::new(database(config.database_url.as_deref())?, Settings::default());
    ledger.migrate().await?;
    ledger.close().await;
    anstream::println!("the schema is up to date");
    Ok(ExitCode::SUCCESS)
}

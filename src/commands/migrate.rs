//! `listen migrate`: the schema, forward only.

use std::process::ExitCode;

use ledger::{Ledger, Settings};

use crate::{config::Config, wiring::database};

pub(super) async fn run(config: Config) -> anyhow::Result<ExitCode> {
    let ledger = Ledger::new(database(config.database_url.as_deref())?, Settings::default());
    let missing = ledger.examine().await?.missing_migrations.len();
    ledger.migrate().await?;
    ledger.close().await;
    match missing {
        0 => anstream::println!("the schema was up to date already"),
        1 => anstream::println!("1 migration applied; the schema is up to date"),
        many => anstream::println!("{many} migrations applied; the schema is up to date"),
    }
    Ok(ExitCode::SUCCESS)
}

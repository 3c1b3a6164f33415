//! `listen migrate`: the schema, forward only.

use std::process::ExitCode;

use clap::Args;
use ledger::{Ledger, Settings};
use serde_json::json;

use super::{stdout::say, table::print_json};
use crate::{config::Config, database};

/// Bring the database's schema up to date.
#[derive(Args, Debug)]
pub(crate) struct Migrate {
    /// Print one JSON document.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    config: Config,
}

pub(super) async fn run(migrate: Migrate) -> anyhow::Result<ExitCode> {
    let options = database::options(migrate.config.database_url.as_deref())?;
    let ledger = Ledger::new(options, Settings::default());
    let applied = ledger.migrate().await?;
    ledger.close().await;
    match (migrate.json, applied.len()) {
        (true, _) => print_json(&json!({ "applied": applied })),
        (_, 0) => say!("the schema was up to date already"),
        (_, 1) => say!("1 migration applied; the schema is up to date"),
        (_, many) => say!("{many} migrations applied; the schema is up to date"),
    }?;
    Ok(ExitCode::SUCCESS)
}

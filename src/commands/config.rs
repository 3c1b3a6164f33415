//! `listen config`: the effective settings, secrets masked, and what is wrong with them.

use std::process::ExitCode;

use clap::Args;
use serde_json::{Map, Value, json};

use super::{stdout::say, table::print_json};
use crate::{config::Config, database, telemetry::Logs};

/// Print the effective settings, secrets masked; exit 2 when they cannot work.
#[derive(Args, Debug)]
pub(crate) struct Show {
    /// Print one JSON document.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    config: Config,
}

/// Prints.
///
/// # Errors
/// When stdout cannot be written to.
pub(super) fn run(show: &Show, logs: &Logs) -> anyhow::Result<ExitCode> {
    let settings: Vec<_> = show.config.effective().into_iter().chain(logs.effective()).collect();
    let problems = show.config.problems_of_service();
    if let Ok((_, ignored)) = database::read(show.config.database_url.as_deref()) {
        database::tell(&ignored);
    }
    match show.json {
        true => print_json(&document(&settings, &problems))?,
        false => {
            for (name, value) in &settings {
                say!("{name:<36} {value}")?;
            }
            for problem in &problems {
                anstream::eprintln!("cannot work: {problem}");
            }
        }
    }
    Ok(ExitCode::from(if problems.is_empty() { 0 } else { 2 }))
}

/// What is not set is null; what is masked is as masked as for people.
fn document(settings: &[(&'static str, String)], problems: &[String]) -> Value {
    let value = |shown: &str| if shown == "(none)" { Value::Null } else { json!(shown) };
    let all: Map<String, Value> =
        settings.iter().map(|(name, shown)| ((*name).to_owned(), value(shown))).collect();
    json!({ "ok": problems.is_empty(), "settings": all, "problems": problems })
}

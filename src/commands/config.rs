//! `listen config`: the effective settings, secrets masked, where each comes from, and what is wrong with them.

use std::process::ExitCode;

use clap::Args;
use serde_json::{Map, Value, json};

use super::table::{self, Column, print_json, text, word};
use crate::commands::stderr::note;
use crate::{
    config::{Config, Setting},
    database,
    telemetry::Logs,
};

/// Print the effective settings, secrets masked; exit 2 when they cannot work.
#[derive(Args, Debug)]
pub(crate) struct Show {
    /// Print one JSON document.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    config: Config,
}

/// A setting, and what it is because of what.
pub(crate) const COLUMNS: [Column; 3] = [word("setting", 0), text("value", 1), word("from", 2)];

pub(crate) fn run(show: &Show, settings: &[Setting], logs: &Logs) -> anyhow::Result<ExitCode> {
    let problems = show.config.problems_of_service();
    let chosen = [show.config.chosen(), vec![("log_format", logs.chosen())]].concat();
    if let Ok((_, ignored)) = database::read(show.config.database_url.as_deref()) {
        database::tell(&ignored);
    }
    match show.json {
        true => print_json(&document(settings, &chosen, &problems))?,
        false => {
            let rows = settings.iter().map(|setting| row(setting, &chosen)).collect();
            table::print(&COLUMNS, rows)?;
            for problem in &problems {
                note!("cannot work: {problem}");
            }
        }
    }
    Ok(ExitCode::from(if problems.is_empty() { 0 } else { 2 }))
}

fn row(setting: &Setting, chosen: &[(&'static str, &'static str)]) -> Vec<String> {
    let value = match (setting.value.as_deref(), chosen.iter().find(|(name, _)| *name == setting.name)) {
        (Some("auto"), Some((_, chosen))) => format!("auto ({chosen})"),
        (Some(value), _) => value.to_owned(),
        (None, _) => "(none)".to_owned(),
    };
    vec![setting.name.clone(), value, setting.source.to_owned()]
}

/// What is not set is null; what is masked is as masked as for people.
fn document(settings: &[Setting], chosen: &[(&'static str, &'static str)], problems: &[String]) -> Value {
    let values: Map<String, Value> =
        settings.iter().map(|setting| (setting.name.clone(), json!(setting.value))).collect();
    let sources: Map<String, Value> =
        settings.iter().map(|setting| (setting.name.clone(), json!(setting.source))).collect();
    let auto: Map<String, Value> =
        chosen.iter().map(|(name, chosen)| ((*name).to_owned(), json!(chosen))).collect();
    json!({
        "ok": problems.is_empty(), "settings": values, "sources": sources, "in_effect": auto, "problems": problems,
    })
}

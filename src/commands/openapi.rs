//! `listen openapi`: the document of the public interface, as a service with default settings serves it.

use std::process::ExitCode;

use anyhow::Context;

use super::stdout;

pub(crate) fn run() -> anyhow::Result<ExitCode> {
    let document = api::document(&api::Settings::default());
    let text = serde_json::to_string_pretty(&document).context("making the document")?;
    stdout::write(format!("{text}\n").as_bytes()).context("writing the document")?;
    Ok(ExitCode::SUCCESS)
}

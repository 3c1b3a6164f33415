//! `listen completions`: a shell's completions on stdout.

use std::process::ExitCode;

use anyhow::Context;

use super::stdout;

pub(crate) fn run(shell: clap_complete::Shell, mut command: clap::Command) -> anyhow::Result<ExitCode> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut command, "listen", &mut text);
    stdout::write(&text).context("writing the completions")?;
    Ok(ExitCode::SUCCESS)
}

//! `listen completions`: a shell's completions on stdout.

use std::process::ExitCode;

use clap::CommandFactory;

pub(super) fn run(shell: clap_complete::Shell) -> ExitCode {
    clap_complete::generate(shell, &mut crate::cli::Cli::command(), "listen", &mut std::io::stdout());
    ExitCode::SUCCESS
}

//! `listen config`: the effective settings, secrets masked, and what is wrong with them.

use std::process::ExitCode;

use crate::config::Config;

pub(super) fn run(config: &Config) -> ExitCode {
    for (name, value) in config.effective() {
        anstream::println!("{name:<36} {value}");
    }
    let problems = config.problems_of_service();
    for problem in &problems {
        anstream::eprintln!("cannot work: {problem}");
    }
    ExitCode::from(if problems.is_empty() { 0 } else { 2 })
}

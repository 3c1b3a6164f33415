//! Exit codes (DECISIONS §7) and the last words of a command that failed.

mod causes;

use std::process::ExitCode;

/// Why a command ends with a code of its own.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Exit {
    /// 2: the settings cannot work.
    #[error("{0}")]
    Usage(String),
    /// 3: there is no such thing.
    #[error("{0}")]
    NotFound(String),
    /// 4: the job's state does not allow it.
    #[error("{0}")]
    Refused(String),
}

/// Prints an error with its causes and a next step, and gives its code.
pub(crate) fn report(error: &anyhow::Error) -> ExitCode {
    anstream::eprintln!("{}error:{} {error}", crate::telemetry::RED, crate::telemetry::PLAIN);
    for cause in causes::causes(error) {
        anstream::eprintln!("  because: {cause}");
    }
    if let Some(step) = causes::next_step(error) {
        anstream::eprintln!("  try: {step}");
    }
    ExitCode::from(code(error))
}

/// Refuses settings that cannot work, all that is wrong with them at once.
///
/// # Errors
/// When there is a problem.
pub(crate) fn refuse(problems: &[String]) -> Result<(), Exit> {
    match problems {
        [] => Ok(()),
        problems => {
            Err(Exit::Usage(format!("this configuration cannot work:\n  - {}", problems.join("\n  - "))))
        }
    }
}

/// Prints what clap, or the configuration, has to say; 2 for wrong usage, 0 for `--help`.
pub(crate) fn usage(refusal: &clap::Error) -> ExitCode {
    // Nothing is left to be told to when the terminal is gone.
    let _ = refusal.print();
    ExitCode::from(u8::try_from(refusal.exit_code()).unwrap_or(2))
}

fn code(error: &anyhow::Error) -> u8 {
    if let Some(exit) = error.downcast_ref::<Exit>() {
        return match exit {
            Exit::Usage(_) => 2,
            Exit::NotFound(_) => 3,
            Exit::Refused(_) => 4,
        };
    }
    match error.downcast_ref::<ledger::Error>() {
        Some(broken) if broken.is_passing() => UNAVAILABLE,
        _ => 1,
    }
}

const UNAVAILABLE: u8 = 69;
/// Some of many were done, and some were not.
pub(crate) const PARTLY: u8 = 5;

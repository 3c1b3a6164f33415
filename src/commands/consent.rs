//! Before something is changed: who does it and why, and whether it is really meant.

use std::io::{IsTerminal, Write};

use clap::Args;
use ledger::OperatorAction;

use crate::commands::stderr::note;
use crate::exit::Exit;

/// Who changes something, and why: recorded with the change.
#[derive(Args, Clone, Debug)]
pub(crate) struct Cause {
    /// Reason, in 3 to 500 characters, recorded with the action; must hold nothing that a user said.
    #[arg(long, value_name = "WORDS", value_parser = reason)]
    pub(crate) reason: String,
    /// Operator, recorded with the action; required where USER is not set.
    #[arg(long, env = "USER", value_name = "NAME", value_parser = super::named::name)]
    pub(crate) operator: String,
}

/// Whether a change is only shown, asked about, or made at once.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct Consent {
    /// Show what would change, and change nothing.
    #[arg(short = 'n', long)]
    pub(crate) dry_run: bool,
    /// Do not ask for confirmation.
    #[arg(short, long)]
    yes: bool,
}

impl Cause {
    /// As the ledger records it.
    pub(crate) fn action(&self) -> OperatorAction {
        OperatorAction::new(&self.operator, &self.reason)
    }
}

impl Consent {
    /// Asks `question` on a terminal. `false`: nothing is to be changed.
    ///
    /// # Errors
    /// When there is no terminal to ask on and `--yes` was not given.
    pub(crate) fn given(self, question: &str) -> anyhow::Result<bool> {
        if self.dry_run {
            return Ok(false);
        }
        if self.yes {
            return Ok(true);
        }
        if !std::io::stdin().is_terminal() {
            let words =
                format!("{question} There is no terminal to ask on: say --yes, or --dry-run to look first");
            return Err(Exit::Usage(words).into());
        }
        let mut stderr = anstream::stderr().lock();
        write!(stderr, "{question} [y/N] ")?;
        stderr.flush()?;
        drop(stderr);
        let mut answer = String::new();
        std::io::stdin().read_line(&mut answer)?;
        let meant = matches!(answer.trim().to_lowercase().as_str(), "y" | "yes");
        if !meant {
            note!("nothing was changed");
        }
        Ok(meant)
    }
}

/// A reason has words: an empty one is useless.
pub(super) fn reason(words: &str) -> Result<String, String> {
    let words = words.trim();
    match words.chars().count() {
        3..=500 => Ok(words.to_owned()),
        _ => Err("3 to 500 characters that tell the next operator why".to_owned()),
    }
}

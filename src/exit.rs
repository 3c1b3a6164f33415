//! Exit codes (DECISIONS §7) and the last words of a command that failed.

mod causes;

use std::{
    io::{IsTerminal, Write},
    process::ExitCode,
};

use db::{Shard, Trouble};

/// Why a command ends with a code of its own.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Exit {
    /// 2: the settings cannot work.
    #[error("{0}")]
    Usage(String),
    /// 3: there is no such thing.
    #[error("{0}")]
    NotFound(String),
    /// 4: the state of what was named does not allow it; the schema's, too.
    #[error("{0}")]
    Refused(String),
    /// 69: the database cannot be reached.
    #[error("{0}")]
    Unavailable(String),
    /// 1: what was begun goes on unseen. Not 69: repeating the command would begin it once more.
    #[error("{0}")]
    Unseen(String),
}

/// Prints an error with its causes and a next step, and gives its code.
pub(crate) fn report(error: &anyhow::Error) -> ExitCode {
    let mut said = fitted("error: ", &error.to_string());
    for cause in causes::causes(error) {
        said.push_str(&fitted("  because: ", &cause));
    }
    if let Some(step) = causes::next_step(error) {
        said.push_str(&fitted("  try: ", step));
    }
    let said =
        said.replacen("error:", &format!("{}error:{}", crate::terminal::RED, crate::terminal::PLAIN), 1);
    // The disk that stdout could not be written to may be stderr's, too: the code is all that can be said then.
    let _ = anstream::stderr().lock().write_all(said.as_bytes());
    ExitCode::from(code(error))
}

/// A line of it; on a terminal it breaks between words.
fn fitted(label: &str, words: &str) -> String {
    let line = match std::io::stderr().is_terminal() {
        true => crate::terminal::hanging(label, words, textwrap::termwidth()),
        false => format!("{label}{words}"),
    };
    line + "\n"
}

/// An error of one shard of several, with its causes and a next step.
pub(crate) fn in_one_line(error: &anyhow::Error) -> String {
    let words = std::iter::once(error.to_string()).chain(causes::causes(error));
    let words = words.collect::<Vec<_>>().join(": ");
    match causes::next_step(error) {
        Some(step) => format!("{words}; {step}"),
        None => words,
    }
}

/// An error with the shard that it is of, where there are several and it does not say so itself.
pub(crate) fn of_shard(error: anyhow::Error, shard: Shard) -> anyhow::Error {
    let (name, words) = (format!("shard {shard}"), error.to_string());
    match shard.is_only() || words.contains(&name) {
        true => error,
        false => error.context(format!("{name}: {words}")),
    }
}

/// Refuses settings that cannot work, all that is wrong with them at once.
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
    // There is nowhere to print to when the terminal is gone.
    let _ = refusal.print();
    ExitCode::from(u8::try_from(refusal.exit_code()).unwrap_or(2))
}

fn code(error: &anyhow::Error) -> u8 {
    if let Some(exit) = error.downcast_ref::<Exit>() {
        return match exit {
            Exit::Usage(_) => 2,
            Exit::NotFound(_) => 3,
            Exit::Refused(_) => REFUSED,
            Exit::Unavailable(_) => UNAVAILABLE,
            Exit::Unseen(_) => 1,
        };
    }
    match error.downcast_ref::<db::Error>() {
        // It passes for a process, which waits. To repeat a command at once is of no use.
        Some(broken) if matches!(broken.trouble(), Some(Trouble::Credentials | Trouble::NoDatabase)) => 1,
        Some(broken) if broken.is_passing() => UNAVAILABLE,
        Some(broken) if broken.trouble() == Some(Trouble::Schema) => REFUSED,
        _ => 1,
    }
}

/// Whether it is that the database cannot be reached, or is busy.
pub(crate) fn is_away(error: &anyhow::Error) -> bool {
    code(error) == UNAVAILABLE
}

const UNAVAILABLE: u8 = 69;
const REFUSED: u8 = 4;
/// What each code means, for the manual.
pub(crate) const MEANINGS: [(&str, &str); 8] = [
    ("0", "done"),
    (
        "1",
        "failed; `verify`: something was found; `doctor`: something is broken (what only needs attention is 0); `jobs replay` of many: begun, and its end was not seen",
    ),
    ("2", "usage: wrong words, settings, scopes or codes"),
    ("3", "not found"),
    ("4", "refused by the state of the object, or by a schema that is not this version's (`listen migrate`)"),
    ("5", "done in part"),
    (
        "69",
        "the database cannot be reached or is busy: repeat the command; `doctor`: the only database was not examined, as it cannot be reached, is missing, or refuses the user (of several shards, such a one is 1)",
    ),
    ("129, 130, 143", "interrupted by SIGHUP, SIGINT or SIGTERM; a bulk replay goes on"),
];
/// Some of many were done, and some were not.
pub(crate) const PARTLY: u8 = 5;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_code_of_an_outage_unless_repeating_would_be_wrong() {
        let away = || anyhow::Error::from(db::Error::Contended { doing: "looking" });
        assert_eq!(code(&away()), UNAVAILABLE);
        assert_eq!(code(&away().context("a replay goes on")), UNAVAILABLE);
        assert_eq!(code(&away().context(Exit::Unseen("it was begun".to_owned()))), 1);
    }

    #[test]
    fn error_of_a_shard_names_it_once_and_keeps_its_code() {
        let away = || anyhow::Error::from(Exit::Unavailable("nobody answers".to_owned()));
        let of = |number| Shard { number, of: 4 };
        let named = of_shard(of_shard(away(), of(2)), of(2));
        assert_eq!(
            (in_one_line(&named), code(&named)),
            ("shard 2 of 4: nobody answers".to_owned(), UNAVAILABLE)
        );
        assert_eq!(in_one_line(&of_shard(away(), Shard::default())), "nobody answers");
    }

    #[test]
    fn exit_message_names_the_cause_of_an_unavailable_shard() {
        let full = anyhow::anyhow!("sorry, too many clients already").context("the database is unavailable");
        assert_eq!(in_one_line(&full), "the database is unavailable: sorry, too many clients already");
    }
}

//! The answers as sentences for an operator: what holds, and what follows from it. Moments are UTC.

use std::fmt;

use chrono::SecondsFormat;

use super::Why;
use crate::Timestamp;

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Running { worker, until } => {
                write!(f, "It runs: {} holds the lease until {} and renews it.", worker.0, time(*until))
            }
            Self::HolderSilent { worker, until, seen_at, next_owner } => write!(
                f,
                "{} holds its lease until {}, but that process was last seen at {}. Unless it renews: {next_owner}.",
                worker.0,
                time(*until),
                time(*seen_at),
            ),
            Self::HolderGone { worker, until, next_owner } => write!(
                f,
                "{} holds its lease until {}, but no such process is known: it has ended, or was never seen. Unless \
                 it renews: {next_owner}.",
                worker.0,
                time(*until),
            ),
            Self::LeaseExpired { worker, at, seen_at, next_owner } => {
                write!(f, "Its lease, held by {}, ran out at {}", worker.0, time(*at))?;
                if let Some(seen_at) = seen_at {
                    write!(f, "; that process was last seen at {}", time(*seen_at))?;
                }
                write!(f, ": {next_owner}.")
            }
            Self::BackingOff { until, code: Some(code) } => {
                write!(f, "It backs off until {} after {code}.", time(*until))
            }
            Self::BackingOff { until, code: None } => {
                write!(f, "It was released and waits until {}.", time(*until))
            }
            Self::Paused { queue, by, since } => write!(
                f,
                "Its queue, {queue}, has been paused by {by} since {}; `listen jobs resume {queue} --reason …` opens it.",
                time(*since),
            ),
            Self::InTaskQueue { since } => write!(
                f,
                "The task queue has had it since {} and delivers it when its turn comes; a task that is lost is noticed by the \
                 reconciler.",
                time(*since),
            ),
            Self::NotHandedOver { tries } => {
                let tried = if *tries == 1 { "once".to_owned() } else { format!("{tries} times") };
                write!(
                    f,
                    "The task queue has not taken it, tried {tried} so far; `listen doctor` says what is in the way."
                )
            }
            Self::NoWorkers => f.write_str(
                "No running process has a worker for its queue: start a process with the role worker.",
            ),
            Self::SlotsTaken { slots, ahead } => {
                match slots {
                    1 => f.write_str("The only slot of the living workers is taken")?,
                    slots => write!(f, "All {slots} slots of the living workers are taken")?,
                }
                write!(f, ", and {} before it.", come(*ahead))
            }
            Self::Behind { ahead } => write!(f, "It is ready; {} before it.", come(*ahead)),
            Self::NothingWrong => f.write_str(
                "Nothing is wrong: it is ready, and a slot is free; it is claimed within a second.",
            ),
            Self::Parked { since, until, required } => {
                write!(
                    f,
                    "It has waited for its user's own keys since {}, and is given up at {}; the service's key never runs it.",
                    time(*since),
                    time(*until),
                )?;
                match required {
                    true => Ok(()),
                    false => f.write_str(
                        " Its user does not require own keys: cancel it, and the user's next finalize or reprocess makes \
                         a new job, which needs none.",
                    ),
                }
            }
            Self::Done { outcome } => write!(f, "It is done: completed, {outcome}."),
            Self::Dead { code } => {
                write!(f, "It is a dead letter, {code}: it waits for an operator to replay or dismiss it.")
            }
            Self::Superseded { code } => {
                write!(
                    f,
                    "It is a dead letter, {code}, and a newer revision of its conversation took its place."
                )
            }
            Self::ConversationGone { code } => {
                write!(
                    f,
                    "It is a dead letter, {code}, and its conversation was deleted: it cannot be replayed."
                )
            }
            Self::Settled { code, at } => {
                write!(f, "It is a dead letter, {code}, that an operator dismissed at {}.", time(*at))
            }
        }
    }
}

fn come(ahead: u32) -> String {
    match ahead {
        0 => "no job comes".to_owned(),
        1 => "1 job comes".to_owned(),
        1_000.. => "1,000 jobs or more come".to_owned(),
        _ => format!("{ahead} jobs come"),
    }
}

/// To the millisecond, as the timeline beside it.
fn time(at: Timestamp) -> String {
    at.to_rfc3339_opts(SecondsFormat::Millis, true)
}

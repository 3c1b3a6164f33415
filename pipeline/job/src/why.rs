//! Why a job is not running: one answer, and the guard that gives it.
//!
//! The guards stand in the order in which a claim meets them: first what the job itself says ([`decide`]
//! would refuse with the same), then what keeps a free slot from asking.
//!
//! [`decide`]: crate::decide

use std::fmt;

use crate::{FailureCode, Job, Outcome, Policy, State, Timestamp, WorkerId};

/// What lies around a job, as far as it decides whether somebody takes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// Whether work is announced by bells; without, free slots read the job table itself.
    pub bells: bool,
    /// When the bell of the present generation may be taken, if there is one.
    pub ring_at: Option<Timestamp>,
    /// Who paused the queue, since when.
    pub paused: Option<(String, Timestamp)>,
    /// Slots for this queue in living workers.
    pub slots: u32,
    /// Leases of this queue that have not expired.
    pub busy: u32,
    /// Bells of this queue that are taken first (counted to 1,000).
    pub ahead: u32,
    /// When the worker that holds the lease was last seen, if it is known.
    pub holder_seen_at: Option<Timestamp>,
    /// A newer revision of the conversation was admitted.
    pub superseded: bool,
    /// The conversation was deleted.
    pub conversation_gone: bool,
}

/// Why a job is not running, or that it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// It runs.
    Running {
        /// Whose lease.
        worker: WorkerId,
        /// Until when.
        until: Timestamp,
    },
    /// Its worker renewed no more; the lease watch gives it to another one.
    LeaseExpired {
        /// Whose lease it was.
        worker: WorkerId,
        /// When it ran out.
        at: Timestamp,
        /// When that worker was last seen, if it is known.
        seen_at: Option<Timestamp>,
    },
    /// It waits after a failure, or was released with a delay.
    BackingOff {
        /// Until when.
        until: Timestamp,
        /// The failure, where there was one.
        code: Option<FailureCode>,
    },
    /// An operator paused the queue.
    Paused {
        /// Who.
        by: String,
        /// When.
        since: Timestamp,
    },
    /// No living process has a slot for its queue.
    NoWorkers,
    /// Nothing announces it.
    BellLost {
        /// When the reconciler rings again.
        repaired_at: Option<Timestamp>,
    },
    /// Its bell was put off, because the job could not be read or stored.
    BellPutOff {
        /// Until when.
        until: Timestamp,
    },
    /// Every slot is taken.
    SlotsTaken {
        /// How many there are.
        slots: u32,
        /// Jobs that come before it.
        ahead: u32,
    },
    /// Others come first; slots are free.
    Behind {
        /// How many.
        ahead: u32,
    },
    /// It is ready, announced, and a slot is free.
    NothingWrong,
    /// It waits for its user's keys.
    Parked {
        /// Since when.
        since: Timestamp,
        /// When it is given up.
        until: Timestamp,
    },
    /// It is done.
    Done {
        /// How.
        outcome: Outcome,
    },
    /// It was given up; a replay begins it anew.
    Dead {
        /// Why.
        code: FailureCode,
    },
    /// It was given up, and a newer revision took its place.
    Superseded {
        /// Why it was given up.
        code: FailureCode,
    },
    /// It was given up, and its conversation is gone.
    ConversationGone {
        /// Why it was given up.
        code: FailureCode,
    },
    /// It was given up, and an operator settled it.
    Settled {
        /// Why it was given up.
        code: FailureCode,
        /// When it was settled.
        at: Timestamp,
    },
}

/// Answers for `job` at `now`.
pub fn why(job: &Job, around: &Surroundings, now: Timestamp, policy: &Policy) -> Why {
    match &job.state {
        State::Queued { ready_at } if now < *ready_at => {
            Why::BackingOff { until: *ready_at, code: job.last_code }
        }
        State::Queued { .. } => why_not_taken(job, around, now, policy),
        State::Leased(lease) if now < lease.expires_at => {
            Why::Running { worker: lease.worker.clone(), until: lease.expires_at }
        }
        State::Leased(lease) => Why::LeaseExpired {
            worker: lease.worker.clone(),
            at: lease.expires_at,
            seen_at: around.holder_seen_at,
        },
        State::BlockedByok => {
            let since = job.first_blocked_at.unwrap_or(job.admitted_at);
            Why::Parked { since, until: job.reconcile_after_at(policy).unwrap_or(since) }
        }
        State::Completed { outcome } => Why::Done { outcome: *outcome },
        State::DeadLetter { code } => why_not_replayed(job, around, *code),
    }
}

/// The job is ready: what keeps a slot from taking it.
fn why_not_taken(job: &Job, around: &Surroundings, now: Timestamp, policy: &Policy) -> Why {
    if let Some((by, since)) = &around.paused {
        return Why::Paused { by: by.clone(), since: *since };
    }
    if around.slots == 0 {
        return Why::NoWorkers;
    }
    match around.ring_at {
        None if around.bells => return Why::BellLost { repaired_at: job.reconcile_after_at(policy) },
        Some(until) if around.bells && now < until => return Why::BellPutOff { until },
        _ => {}
    }
    if around.busy >= around.slots {
        return Why::SlotsTaken { slots: around.slots, ahead: around.ahead };
    }
    match around.ahead {
        0 => Why::NothingWrong,
        ahead => Why::Behind { ahead },
    }
}

fn why_not_replayed(job: &Job, around: &Surroundings, code: FailureCode) -> Why {
    match job.settled_at {
        Some(at) => Why::Settled { code, at },
        None if around.superseded => Why::Superseded { code },
        None if around.conversation_gone => Why::ConversationGone { code },
        None => Why::Dead { code },
    }
}

impl Why {
    /// The guard, as a word of a closed list.
    pub const fn guard(&self) -> &'static str {
        match self {
            Self::Running { .. } => "running",
            Self::LeaseExpired { .. } => "lease_expired",
            Self::BackingOff { .. } => "backing_off",
            Self::Paused { .. } => "paused",
            Self::NoWorkers => "no_workers",
            Self::BellLost { .. } => "bell_lost",
            Self::BellPutOff { .. } => "bell_put_off",
            Self::SlotsTaken { .. } => "slots_taken",
            Self::Behind { .. } => "behind_others",
            Self::NothingWrong => "nothing_wrong",
            Self::Parked { .. } => "parked",
            Self::Done { .. } => "done",
            Self::Dead { .. } => "dead_letter",
            Self::Superseded { .. } => "superseded",
            Self::ConversationGone { .. } => "conversation_gone",
            Self::Settled { .. } => "settled",
        }
    }
}

/// One sentence for an operator; moments are UTC.
impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Running { worker, until } => {
                write!(f, "It runs: {} holds the lease until {} and renews it.", worker.0, time(*until))
            }
            Self::LeaseExpired { worker, at, seen_at } => {
                write!(f, "Its lease, held by {}, ran out at {}", worker.0, time(*at))?;
                if let Some(seen_at) = seen_at {
                    write!(f, "; that process was last seen at {}", time(*seen_at))?;
                }
                f.write_str(". The lease watch of any process gives it to another worker within seconds.")
            }
            Self::BackingOff { until, code: Some(code) } => {
                write!(f, "It backs off until {} after {code}.", time(*until))
            }
            Self::BackingOff { until, code: None } => write!(f, "It was given back until {}.", time(*until)),
            Self::Paused { by, since } => {
                write!(
                    f,
                    "Its queue is paused by {by} since {}; `listen jobs resume` opens it.",
                    time(*since)
                )
            }
            Self::NoWorkers => f.write_str("No living process has a worker for its queue: start one."),
            Self::BellLost { repaired_at: Some(at) } => {
                write!(f, "Its bell is lost. The reconciler rings again once it is due at {}.", time(*at))
            }
            Self::BellLost { repaired_at: None } => f.write_str("Its bell is lost, and nobody will look."),
            Self::BellPutOff { until } => {
                write!(
                    f,
                    "Its bell was put off until {} because the row could not be read or stored; the log has the reason.",
                    time(*until)
                )
            }
            Self::SlotsTaken { slots, ahead } => {
                match slots {
                    1 => f.write_str("The only slot of the living workers is taken")?,
                    slots => write!(f, "All {slots} slots of the living workers are taken")?,
                }
                write!(f, ", and {} before it.", come(*ahead))
            }
            Self::Behind { ahead } => write!(f, "It is ready; {} before it.", come(*ahead)),
            Self::NothingWrong => f.write_str(
                "Nothing is wrong: it is ready, announced, and a slot is free; it is taken within a second.",
            ),
            Self::Parked { since, until } => write!(
                f,
                "It waits for its user's own keys since {}, and is given up at {}; the service's key never runs it.",
                time(*since),
                time(*until),
            ),
            Self::Done { outcome } => write!(f, "It is done: completed, {outcome}."),
            Self::Dead { code } => {
                write!(f, "It is a dead letter, {code}: it waits for an operator to replay or discard it.")
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
                    "It is a dead letter, {code}, and its conversation was deleted: only discarding is left."
                )
            }
            Self::Settled { code, at } => {
                write!(f, "It is a dead letter, {code}, that an operator settled at {}.", time(*at))
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

fn time(at: Timestamp) -> String {
    at.format("%Y-%m-%d %H:%M:%SZ").to_string()
}

//! Why a job is not running: one answer, and the guard that gives it.
//!
//! The guards stand in the order in which a claim meets them: first what the job itself says ([`decide`]
//! would refuse with the same), then what keeps a free slot from asking.
//!
//! [`decide`]: crate::decide

mod next_owner;
mod words;

use chrono::Duration;

pub use next_owner::NextOwner;

use crate::{FailureCode, Job, Lease, Outcome, Policy, Queue, State, Timestamp, WorkerId};

/// A process says every five seconds that it lives. One that missed two of them is silent: frozen, cut off from the
/// database, or dead.
pub const SILENT_AFTER: Duration = Duration::seconds(10);

/// The surroundings of a job, as far as they decide whether a worker claims it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// Who paused the queue, since when.
    pub paused: Option<(String, Timestamp)>,
    /// Processes that live: each of them watches leases. A lease's holder that is silent does not count.
    pub living: u32,
    /// Slots for this queue in living workers.
    pub slots: u32,
    /// Leases of this queue that have not expired.
    pub busy: u32,
    /// Jobs of this queue that are claimed first (counted to 1,000).
    pub ahead: u32,
    /// Since when the task queue has the job's present dispatch, if it has.
    pub handed_at: Option<Timestamp>,
    /// How often the task queue did not take it.
    pub hand_tries: u32,
    /// When the worker that holds the lease was last seen, if it is known.
    pub holder_seen_at: Option<Timestamp>,
    /// That worker took its leave: it renews until its runs have ended, and is not seen any more.
    pub holder_stopping: bool,
    /// A newer revision of the conversation was admitted.
    pub superseded: bool,
    /// The conversation was deleted.
    pub conversation_gone: bool,
    /// The job's user requires own keys now.
    pub user_requires_keys: bool,
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
    /// Its worker has a valid lease, and its process is silent.
    HolderSilent {
        /// Whose lease.
        worker: WorkerId,
        /// Until when, unless it is renewed.
        until: Timestamp,
        /// When that process was last seen.
        seen_at: Timestamp,
        /// Who goes on if it is not renewed.
        next_owner: NextOwner,
    },
    /// Its worker has a valid lease, and its process took its leave or never said a word.
    HolderGone {
        /// Whose lease.
        worker: WorkerId,
        /// Until when, unless it is renewed.
        until: Timestamp,
        /// Who goes on if it is not renewed.
        next_owner: NextOwner,
    },
    /// Its worker renewed no more.
    LeaseExpired {
        /// Whose lease it was.
        worker: WorkerId,
        /// When it ran out.
        at: Timestamp,
        /// When that worker was last seen, if it is known.
        seen_at: Option<Timestamp>,
        /// Who goes on.
        next_owner: NextOwner,
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
        /// Which.
        queue: Queue,
        /// Who.
        by: String,
        /// When.
        since: Timestamp,
    },
    /// The task queue has it, and has not delivered it, or not where it could run.
    InTaskQueue {
        /// Since when.
        since: Timestamp,
    },
    /// The task queue does not take it.
    NotHandedOver {
        /// How often it was tried.
        tries: u32,
    },
    /// No living process has a slot for its queue.
    NoWorkers,
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
    /// It is ready, and a slot is free.
    NothingWrong,
    /// It waits for its user's keys.
    Parked {
        /// Since when.
        since: Timestamp,
        /// When it is given up.
        until: Timestamp,
        /// Whether the user still requires own keys: a new job would need them too.
        required: bool,
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
    /// It was given up, and an operator dismissed it.
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
        State::Queued { .. } => why_not_taken(job, around),
        State::Leased(lease) => why_not_done(job, lease, around, now, policy),
        State::BlockedByok => {
            let since = job.first_blocked_at.unwrap_or(job.admitted_at);
            let until = job.reconcile_after_at(policy).unwrap_or(since);
            Why::Parked { since, until, required: around.user_requires_keys }
        }
        State::Completed { outcome } => Why::Done { outcome: *outcome },
        State::DeadLetter { code } => why_not_replayed(job, around, *code),
    }
}

/// The job was claimed: whether its holder still works on it, as far as anybody can tell.
fn why_not_done(job: &Job, lease: &Lease, around: &Surroundings, now: Timestamp, policy: &Policy) -> Why {
    let (worker, until, next_owner) =
        (lease.worker.clone(), lease.expires_at, NextOwner::of(job, around, policy));
    if now >= until {
        return Why::LeaseExpired { worker, at: until, seen_at: around.holder_seen_at, next_owner };
    }
    match around.holder_seen_at {
        Some(seen_at) if !around.holder_stopping && now - seen_at > SILENT_AFTER => {
            Why::HolderSilent { worker, until, seen_at, next_owner }
        }
        // A process that has only begun claims before it is seen.
        None if now - lease.claimed_at > SILENT_AFTER => Why::HolderGone { worker, until, next_owner },
        _ => Why::Running { worker, until },
    }
}

/// The job is ready: what keeps a slot from taking it.
fn why_not_taken(job: &Job, around: &Surroundings) -> Why {
    if let Some((by, since)) = &around.paused {
        return Why::Paused { queue: job.queue, by: by.clone(), since: *since };
    }
    if let Some(since) = around.handed_at {
        return Why::InTaskQueue { since };
    }
    if around.hand_tries > 0 {
        return Why::NotHandedOver { tries: around.hand_tries };
    }
    if around.slots == 0 {
        return Why::NoWorkers;
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
        // Settled by the newer revision, if not before: an operator cannot replay it either way.
        _ if around.superseded => Why::Superseded { code },
        // By the deletion, if not before.
        _ if around.conversation_gone => Why::ConversationGone { code },
        Some(at) => Why::Settled { code, at },
        None => Why::Dead { code },
    }
}

impl Why {
    /// The guard, as a word of a closed list.
    pub const fn guard(&self) -> &'static str {
        match self {
            Self::Running { .. } => "running",
            Self::HolderSilent { .. } => "holder_silent",
            Self::HolderGone { .. } => "holder_gone",
            Self::LeaseExpired { .. } => "lease_expired",
            Self::BackingOff { .. } => "backing_off",
            Self::Paused { .. } => "paused",
            Self::InTaskQueue { .. } => "in_task_queue",
            Self::NotHandedOver { .. } => "not_handed_over",
            Self::NoWorkers => "no_workers",
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

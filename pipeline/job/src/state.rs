//! A job and the states it can be in. A state carries its data; an impossible job cannot be built.

use std::fmt;

use crate::{FailureCode, JobId, Timestamp, named};

macro_rules! number {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub i64);

        impl $name {
            /// The number after this one.
            pub const fn next(self) -> Self {
                Self(self.0 + 1)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.0)
            }
        }
    };
}

number!(
    /// Numbers the claims of a job. Every write of a run names its epoch; it never goes back, not even on replay.
    Epoch
);
number!(
    /// Numbers the dispatches of a job, from 1: a delivery of an older one is stale.
    Generation
);
number!(
    /// Numbers the times that a job was put into its queue: raised by every `Effect::Enqueue`.
    Dispatch
);

/// The name of the process and slot that holds a lease.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WorkerId(pub String);

named! {
    /// Which route admitted a job (DECISIONS §4, "origin").
    Origin {
        /// `POST /v1/conversations/{id}/finalize`, the processing of an in-progress one, and abandonment.
        Finalize = "finalize",
        /// A conversation created from text or segments.
        Create = "create",
        /// A completed or failed conversation processed again.
        Reprocess = "reprocess",
        /// A live conversation that ended: by silence, on request, or by its limits.
        Live = "live",
    }
}

named! {
    /// The two queues (DESIGN §5): each has its own workers and concurrency.
    Queue {
        /// The dedicated queue of the spec.
        Finalization = "finalization",
        /// Conversations that a client is waiting for.
        Creation = "creation",
    }
}

named! {
    /// How a completed job ended (DECISIONS §4, "outcome").
    Outcome {
        /// Results were written.
        Kept = "kept",
        /// Judged not worth keeping: the conversation is completed and discarded.
        Discarded = "discarded",
        /// The conversation was deleted.
        Withdrawn = "withdrawn",
    }
}

impl Origin {
    /// The queue in which a job of this origin is first announced.
    pub const fn queue(self) -> Queue {
        match self {
            Self::Finalize | Self::Live => Queue::Finalization,
            Self::Create | Self::Reprocess => Queue::Creation,
        }
    }
}

/// The right to run a job, for a while.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Lease {
    /// The claim that this lease belongs to; equals the job's `epoch`.
    pub epoch: Epoch,
    /// Who holds it.
    pub worker: WorkerId,
    /// The first `ready_at` of this dispatch: a job whose lease expires goes back to its place in the queue.
    pub ready_at: Timestamp,
    /// When the claim was granted: the run limit counts from here.
    pub claimed_at: Timestamp,
    /// When anybody may take over.
    pub expires_at: Timestamp,
}

/// Where a job stands (spec, "Finalization job status").
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// Waiting to be claimed, from `ready_at` on.
    Queued {
        /// Not before this moment.
        ready_at: Timestamp,
    },
    /// A run holds it.
    Leased(Lease),
    /// Parked until its user brings keys again.
    BlockedByok,
    /// Done.
    Completed {
        /// How.
        outcome: Outcome,
    },
    /// Given up, until an operator replays it.
    DeadLetter {
        /// Why.
        code: FailureCode,
    },
}

impl State {
    /// The status in the column, the metric label and the poll answer.
    pub const fn status(&self) -> &'static str {
        match self {
            Self::Queued { .. } => "queued",
            Self::Leased(_) => "leased",
            Self::BlockedByok => "blocked_byok",
            Self::Completed { .. } => "completed",
            Self::DeadLetter { .. } => "dead_letter",
        }
    }

    /// Whether nothing more happens by itself.
    pub const fn is_terminal(&self) -> bool {
        matches!(self, Self::Completed { .. } | Self::DeadLetter { .. })
    }

    /// From when on it may be claimed, while it is queued.
    pub const fn ready_at(&self) -> Option<Timestamp> {
        match self {
            Self::Queued { ready_at } => Some(*ready_at),
            _ => None,
        }
    }

    /// The lease of the run that holds it.
    pub const fn lease(&self) -> Option<&Lease> {
        match self {
            Self::Leased(lease) => Some(lease),
            _ => None,
        }
    }

    /// How it was completed.
    pub const fn outcome(&self) -> Option<Outcome> {
        match self {
            Self::Completed { outcome } => Some(*outcome),
            _ => None,
        }
    }

    /// Why it was given up.
    pub const fn dead_code(&self) -> Option<FailureCode> {
        match self {
            Self::DeadLetter { code } => Some(*code),
            _ => None,
        }
    }
}

/// A job: everything that a decision may look at, and nothing that a person said.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Job {
    /// Deterministic for (user, conversation, revision).
    pub id: JobId,
    /// Which route admitted it.
    pub origin: Origin,
    /// Which queue it waits in; a replay moves it to `finalization`.
    pub queue: Queue,
    /// Where it stands.
    pub state: State,
    /// The newest claim, 0 before the first; never goes back.
    pub epoch: Epoch,
    /// The newest dispatch, from 1; never goes back.
    pub generation: Generation,
    /// How often it was enqueued; never goes back.
    pub dispatch: Dispatch,
    /// Recorded failures since admission or replay.
    pub attempts: u32,
    /// Leases that expired since admission or replay, without those whose holders proved later that they lived.
    pub crashes: u32,
    /// The claim of the crash that was counted last, until its holder proves that it lives.
    pub crashed_epoch: Option<Epoch>,
    /// Runs begun and not released since admission or replay: the poll's `attempt_count`.
    pub runs: u32,
    /// Only a claim that holds keys may lease it; nothing takes that back.
    pub requires_keys: bool,
    /// Discard detection is skipped; decided at admission, kept on replay.
    pub force_process: bool,
    /// The last admission or replay: ages count from here.
    pub admitted_at: Timestamp,
    /// When it was first parked since the last admission or replay; parking again does not restart the clock.
    pub first_blocked_at: Option<Timestamp>,
    /// The newest failure, also of a job that goes on: the poll's `failure_code`.
    pub last_code: Option<FailureCode>,
    /// When a dead letter was settled: an operator marked it, the next revision of its conversation was admitted, or the
    /// conversation was deleted.
    pub settled_at: Option<Timestamp>,
    /// When a queued job that a `Reconcile` left queued is checked next: it keeps its first `ready_at`, from which no
    /// later check can be derived. Every other transition clears it (see `reconcile_after_at`).
    pub next_check_at: Option<Timestamp>,
    /// An operator ended its wait: its next run asks a model server even where that server's circuit is open. Until the
    /// end of that run.
    pub hurried: bool,
}

impl Job {
    /// Failed runs and crashes so far.
    pub const fn retries(&self) -> u32 {
        self.attempts + self.crashes
    }

    /// The failure that is shown of it: what a dead letter died of, or the newest one.
    pub fn failure_code(&self) -> Option<FailureCode> {
        self.state.dead_code().or(self.last_code)
    }
}

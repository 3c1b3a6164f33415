//! The observers of this process's runs: the log, the metrics, and others (the demo's progress).

use std::time::Duration;

use job::{FailureCode, Timestamp};
use ledger::StoredJob;
use stages::StageName;

/// What a run does, reported as it happens. Never a user's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunEvent {
    RunStarted,
    StageStarted {
        stage: StageName,
    },
    StageDone {
        stage: StageName,
        elapsed: Duration,
        /// An earlier run's output was taken.
        recalled: bool,
    },
    /// A stage failed; others may still be running.
    StageFailed {
        stage: StageName,
        elapsed: Duration,
        code: FailureCode,
    },
    RunEnded {
        end: Ended,
        /// Counted from its claim.
        elapsed: Duration,
    },
}

/// How a run ended: what the ledger stored of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Its results are committed.
    Completed,
    /// Given back unharmed.
    Released {
        /// For how long; zero where the process stops.
        delay: Duration,
        /// From when on the job is queued again. A job that requires keys is parked instead.
        ready_at: Option<Timestamp>,
    },
    /// An attempt is spent.
    Failed {
        code: FailureCode,
        /// What the provider asked for.
        retry_after: Option<Duration>,
        /// It was the last attempt.
        dead_letter: bool,
        /// From when on the job is queued again. A job that requires keys is parked instead.
        ready_at: Option<Timestamp>,
    },
    /// Parked until the user brings keys again.
    Parked,
    /// The fence said no: nothing was written. Or the process was stopped hard: what it was committing just then may
    /// have been committed.
    Lost,
}

impl Ended {
    /// The word for it in logs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Released { .. } => "released",
            Self::Failed { .. } => "failed",
            Self::Parked => "parked",
            Self::Lost => "lost",
        }
    }

    pub const fn failure(self) -> Option<FailureCode> {
        match self {
            Self::Failed { code, .. } => Some(code),
            _ => None,
        }
    }
}

/// A port for those who show the progress of runs. Called from the run itself: must return at once.
pub trait RunObserver: Send + Sync {
    /// `event` happened in the run of `claimed`.
    fn observe(&self, claimed: &StoredJob, event: RunEvent);
}

/// Observes nothing.
impl RunObserver for () {
    fn observe(&self, _: &StoredJob, _: RunEvent) {}
}

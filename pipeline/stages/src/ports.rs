//! What a run needs from the process that runs it: a store for checkpoints, and an observer.

use std::time::Duration;

use futures::future::{BoxFuture, ready};
use job::{CheckpointKey, FailureCode};
use serde_json::Value;

use crate::{Failure, StageName};

/// Why a run ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interrupted {
    /// Another run has the job, or it is terminal: nothing more may be written, nothing is to be reported.
    LeaseLost,
    /// The process is asked to stop: the job is to be given back; what was recorded stands.
    Stopping,
    /// A stage, or the checkpoint store, failed.
    Failed(Failure),
}

impl Interrupted {
    /// Which of several interruptions decides what becomes of the job; the greatest rules. A lost lease
    /// silences all; a refused key must park the job, and a fatal code must end it, whatever else went
    /// wrong; a stop, or an open circuit, costs no attempt and therefore goes before a failure that another
    /// run may heal. Of equals, the longest wait.
    pub(crate) fn weight(self) -> (u8, Duration) {
        let rank = match self {
            Self::LeaseLost => 5,
            Self::Failed(Failure { code: FailureCode::ByokKeyRejected, .. }) => 4,
            Self::Failed(failure) if !failure.code.is_retryable() => 3,
            Self::Stopping => 2,
            Self::Failed(Failure { circuit_open: true, .. }) => 1,
            Self::Failed(_) => 0,
        };
        let wait = match self {
            Self::Failed(failure) => failure.retry_after.unwrap_or_default(),
            _ => Duration::ZERO,
        };
        (rank, wait)
    }
}

impl From<FailureCode> for Interrupted {
    fn from(code: FailureCode) -> Self {
        Self::Failed(code.into())
    }
}

impl From<Failure> for Interrupted {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

/// Where one run of one job keeps what its stages cost. Every write is fenced by the run's lease.
pub trait CheckpointStore: Send + Sync {
    /// The output that this job recorded under `key`, in this run or an earlier one.
    fn recall<'a>(&'a self, key: &'a CheckpointKey) -> BoxFuture<'a, Result<Option<Value>, Interrupted>>;

    /// Records an output, only while the run holds its job; else `LeaseLost`. On a conflict the first record stands, unless
    /// it `replaces` one that was recalled and could not be decoded: every run to come would pay for it once more.
    fn record<'a>(
        &'a self,
        key: &'a CheckpointKey,
        output: Value,
        replaces: bool,
    ) -> BoxFuture<'a, Result<(), Interrupted>>;

    /// Whether the process wants to stop. Asked before every step, so that a run ends at a checkpoint.
    fn should_stop(&self) -> bool;
}

/// Who watches a run: metrics, the demo's progress, and tests that hold a run between two stages. What is not said here is ignored.
pub trait Observer: Send + Sync {
    /// `stage` begins, or is about to be recalled.
    fn stage_started(&self, stage: StageName) {
        let _ = stage;
    }

    /// `stage` is done and, if it cost something, recorded. The step does not return before this future
    /// does, so an observer may hold the run here. `recalled`: an earlier run's output was taken.
    fn stage_done(&self, stage: StageName, elapsed: Duration, recalled: bool) -> BoxFuture<'_, ()> {
        let _ = (stage, elapsed, recalled);
        Box::pin(ready(()))
    }

    /// `stage` failed after `elapsed`; other stages may still be running.
    fn stage_failed(&self, stage: StageName, elapsed: Duration, code: FailureCode) {
        let _ = (stage, elapsed, code);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interruptions_are_ordered_by_severity() {
        let (soon, late) = (Duration::from_secs(1), Duration::from_secs(2));
        let passing = |wait| Interrupted::Failed(Failure::after(FailureCode::ModelTimeout, Some(wait)));
        let open = |wait| Interrupted::Failed(Failure::while_open(FailureCode::ModelTimeout, wait));
        let rising = [
            FailureCode::ModelTimeout.into(),
            passing(soon),
            passing(late),
            open(soon),
            open(late),
            Interrupted::Stopping,
            FailureCode::InvalidJob.into(),
            FailureCode::ByokKeyRejected.into(),
            Interrupted::LeaseLost,
        ];
        for pair in rising.windows(2) {
            assert!(pair[0].weight() < pair[1].weight(), "{pair:?}");
        }
    }
}

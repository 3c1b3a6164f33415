//! What a run needs from the process that runs it: a notebook to keep what was paid for, and an observer.

use std::time::Duration;

use futures::future::{BoxFuture, ready};
use job::FailureCode;
use serde_json::Value;

use crate::StageName;

/// Why a run ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interrupted {
    /// Somebody else has the job, or it is at rest: nothing more may be written, nothing is to be reported.
    LeaseLost,
    /// The process is asked to stop: the job is to be given back; what was recorded stands.
    Stopping,
    /// A stage, or the notebook, failed.
    Failed(FailureCode),
}

impl Interrupted {
    /// Which of several interruptions decides what becomes of the job; the greatest rules. A lost lease
    /// silences all; a refused key must park the job, and a fatal code must end it, whatever else went
    /// wrong; a stop costs no attempt and therefore goes before a failure that another run may heal.
    pub(crate) fn weight(self) -> u8 {
        match self {
            Self::LeaseLost => 4,
            Self::Failed(FailureCode::ByokKeyRejected) => 3,
            Self::Failed(code) if !code.is_retryable() => 2,
            Self::Stopping => 1,
            Self::Failed(_) => 0,
        }
    }
}

impl From<FailureCode> for Interrupted {
    fn from(code: FailureCode) -> Self {
        Self::Failed(code)
    }
}

/// Under which a step's output is kept, within its job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StepKey {
    /// The stage's name.
    pub stage: StageName,
    /// The shape of its output.
    pub version: u16,
    /// SHA-256 of what the revision fixes and of the engine's id.
    pub digest: [u8; 32],
}

/// Where one run of one job keeps what its stages cost. Every write is fenced by the run's lease.
pub trait Notebook: Send + Sync {
    /// The output that this job recorded under `key`, in this run or an earlier one.
    fn recall<'a>(&'a self, key: &'a StepKey) -> BoxFuture<'a, Result<Option<Value>, Interrupted>>;

    /// Records an output, only while the run holds its job; else `LeaseLost`. On a conflict the first record stands.
    fn record<'a>(&'a self, key: &'a StepKey, output: Value) -> BoxFuture<'a, Result<(), Interrupted>>;

    /// Records an output over one that was recalled under `key` and could not be decoded, only while the run holds
    /// its job; else `LeaseLost`. Otherwise every run to come would pay for it once more.
    fn record_anew<'a>(&'a self, key: &'a StepKey, output: Value) -> BoxFuture<'a, Result<(), Interrupted>>;

    /// Whether the process wants to stop. Asked before every step, so that a run ends at a checkpoint.
    fn should_stop(&self) -> bool;
}

/// Who watches a run: metrics, the demo's progress, and tests that hold a run between two stages.
pub trait Observer: Send + Sync {
    /// `stage` begins, or is about to be recalled.
    fn stage_started(&self, stage: StageName);

    /// `stage` is done and, if it cost something, recorded. The step does not return before this future
    /// does, so an observer may hold the run here. `recalled`: an earlier run's output was taken.
    fn stage_done(&self, stage: StageName, elapsed: Duration, recalled: bool) -> BoxFuture<'_, ()>;

    /// `stage` failed after `elapsed`; other stages may still be running.
    fn stage_failed(&self, stage: StageName, elapsed: Duration, code: FailureCode) {
        let _ = (stage, elapsed, code);
    }
}

/// Nobody watches.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unobserved;

impl Observer for Unobserved {
    fn stage_started(&self, _: StageName) {}

    fn stage_done(&self, _: StageName, _: Duration, _: bool) -> BoxFuture<'_, ()> {
        Box::pin(ready(()))
    }
}

//! The observers of this process's runs: the log, the metrics, and others (the demo's progress).

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::future::BoxFuture;
use job::FailureCode;
use ledger::Claimed;
use stages::{Observer, StageName};

use crate::metrics::Metrics;
use crate::spending::Account;

/// What a run does, reported as it happens. Never a user's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunEvent {
    /// It was claimed and begins.
    RunStarted,
    /// A stage begins, or is about to be recalled.
    StageStarted { stage: StageName },
    /// A stage is done.
    StageDone {
        stage: StageName,
        elapsed: Duration,
        /// An earlier run's output was taken.
        recalled: bool,
    },
    /// A stage failed; others may still be running.
    StageFailed {
        stage: StageName,
        /// After how long.
        elapsed: Duration,
        code: FailureCode,
    },
    /// The run ended.
    RunEnded {
        /// How.
        end: Ended,
        /// Counted from its claim.
        elapsed: Duration,
    },
}

/// How a run ended, as the ledger took it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Its results are committed.
    Completed,
    /// Given back unharmed.
    Released,
    /// Failed.
    Failed(FailureCode),
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
            Self::Released => "released",
            Self::Failed(_) => "failed",
            Self::Parked => "parked",
            Self::Lost => "lost",
        }
    }
}

/// A port for those who show the progress of runs. Called from the run itself: must return at once.
pub trait RunObserver: Send + Sync {
    /// `event` happened in the run of `claimed`.
    fn observe(&self, claimed: &Claimed, event: RunEvent);
}

/// An observer that ignores everything.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoObserver;

impl RunObserver for NoObserver {
    fn observe(&self, _: &Claimed, _: RunEvent) {}
}

/// The observer of one run: log lines, metrics, the watcher, and the demo's pause.
pub(crate) struct RunReporter {
    pub(crate) claimed: Claimed,
    pub(crate) metrics: Metrics,
    pub(crate) observer: Arc<dyn RunObserver>,
    pub(crate) pause: Option<(String, Duration)>,
    /// Stages that ran and their milliseconds, in the order in which they ended.
    pub(crate) stages: Mutex<Vec<(StageName, u32)>>,
    /// The stages that failed, and why.
    pub(crate) failed: Mutex<Vec<(StageName, FailureCode)>>,
    /// What the run spends at model servers.
    pub(crate) account: Arc<Account>,
}

impl RunReporter {
    /// What the job's history is to remember of this run.
    pub(crate) fn stages(&self) -> Vec<(StageName, u32)> {
        self.stages.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The stage whose failure ended the run with `code`.
    pub(crate) fn failed_stage(&self, code: FailureCode) -> Option<StageName> {
        let failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        let ended_it = || failed.iter().filter(|(_, failure)| *failure == code).map(|(stage, _)| *stage);
        // Pictures fail a run only where nothing else is in it: then no other stage has failed.
        ended_it().find(|stage| *stage != "describe_photos").or_else(|| ended_it().next())
    }

    pub(crate) fn run_started(&self) {
        tracing::info!("run started");
        self.observer.observe(&self.claimed, RunEvent::RunStarted);
    }

    pub(crate) fn run_ended(&self, end: Ended, elapsed: Duration) {
        let code = match end {
            Ended::Failed(code) => Some(code),
            _ => None,
        };
        self.metrics.observe_run(elapsed, end.as_str(), code);
        let failure_code = code.map_or("", FailureCode::as_str);
        tracing::info!(end = end.as_str(), failure_code, elapsed_ms = millis(elapsed), "run ended");
        self.observer.observe(&self.claimed, RunEvent::RunEnded { end, elapsed });
    }
}

impl Observer for RunReporter {
    fn stage_started(&self, stage: StageName) {
        tracing::debug!(stage, "stage started");
        self.observer.observe(&self.claimed, RunEvent::StageStarted { stage });
    }

    fn stage_done(&self, stage: StageName, elapsed: Duration, recalled: bool) -> BoxFuture<'_, ()> {
        // A recalled stage took no time of its own: it would only blur the others'.
        if !recalled {
            self.metrics.observe_stage(stage, elapsed);
            let took = u32::try_from(elapsed.as_millis()).unwrap_or(u32::MAX);
            self.stages.lock().unwrap_or_else(PoisonError::into_inner).push((stage, took));
        }
        tracing::info!(stage, recalled, elapsed_ms = millis(elapsed), "stage done");
        self.observer.observe(&self.claimed, RunEvent::StageDone { stage, elapsed, recalled });
        let pause = self.pause.as_ref().filter(|(paused, _)| paused == stage).map(|(_, pause)| *pause);
        Box::pin(async move {
            if let Some(pause) = pause {
                tokio::time::sleep(pause).await;
            }
        })
    }

    fn stage_failed(&self, stage: StageName, elapsed: Duration, code: FailureCode) {
        self.metrics.observe_stage(stage, elapsed);
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).push((stage, code));
        tracing::warn!(stage, failure_code = code.as_str(), elapsed_ms = millis(elapsed), "stage failed");
        self.observer.observe(&self.claimed, RunEvent::StageFailed { stage, elapsed, code });
    }
}

fn millis(elapsed: Duration) -> u64 {
    u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX)
}

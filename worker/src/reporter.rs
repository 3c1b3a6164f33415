//! What one run reports: to the log, the metrics and the process's observer.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use job::{Cause, FailureCode};
use ledger::StoredJob;
use parking_lot::Mutex;
use stages::{Failure, Observer, StageName};

use crate::observer::{Ended, RunEvent};
use crate::shared::Shared;
use crate::spending::Account;

/// The observer of one run: log lines, metrics, the watcher, and the demo's pause.
pub(crate) struct RunReporter {
    pub(crate) claimed: StoredJob,
    shared: Shared,
    /// Stages that ran and their milliseconds, in the order in which they ended.
    stages: Mutex<Vec<(StageName, u32)>>,
    /// The stages that failed, and why.
    failed: Mutex<Vec<(StageName, FailureCode)>>,
    /// What the run spends at model servers.
    pub(crate) account: Arc<Account>,
}

impl RunReporter {
    pub(crate) fn new(claimed: StoredJob, shared: &Shared) -> Self {
        Self {
            claimed,
            shared: shared.clone(),
            stages: Mutex::default(),
            failed: Mutex::default(),
            account: Arc::default(),
        }
    }

    /// What the job's history is to remember of this run.
    pub(crate) fn stages(&self) -> Vec<(StageName, u32)> {
        self.stages.lock().clone()
    }

    /// What lies behind the end of the run, for operators.
    pub(crate) fn cause(&self, failure: Failure) -> Cause {
        let Failure { code, circuit_open, class, http_status, .. } = failure;
        let stage = self.failed_stage(code).map(str::to_owned);
        Cause { code, stage, class, http_status, circuit_open }
    }

    /// The stage whose failure ended the run with `code`.
    fn failed_stage(&self, code: FailureCode) -> Option<StageName> {
        let failed = self.failed.lock();
        let ended_it = || failed.iter().filter(|(_, failure)| *failure == code).map(|(stage, _)| *stage);
        // Pictures fail a run only where nothing else is in it: then no other stage has failed.
        ended_it().find(|stage| *stage != "describe_photos").or_else(|| ended_it().next())
    }

    fn observe(&self, event: RunEvent) {
        self.shared.settings.observer.observe(&self.claimed, event);
    }

    pub(crate) fn run_started(&self) {
        tracing::info!("run started");
        self.observe(RunEvent::RunStarted);
    }

    pub(crate) fn run_ended(&self, end: Ended, elapsed: Duration) {
        let code = end.failure();
        self.shared.metrics.observe_run(elapsed, end.as_str(), code);
        let failure_code = code.map_or("", FailureCode::as_str);
        tracing::info!(end = end.as_str(), failure_code, elapsed_ms = millis(elapsed), "run ended");
        self.observe(RunEvent::RunEnded { end, elapsed });
    }
}

impl Observer for RunReporter {
    fn stage_started(&self, stage: StageName) {
        tracing::debug!(stage, "stage started");
        self.observe(RunEvent::StageStarted { stage });
    }

    fn stage_done(&self, stage: StageName, elapsed: Duration, recalled: bool) -> BoxFuture<'_, ()> {
        // A recalled stage took no time of its own: it would only blur the others'.
        if !recalled {
            self.shared.metrics.observe_stage(stage, elapsed);
            let took = u32::try_from(elapsed.as_millis()).unwrap_or(u32::MAX);
            self.stages.lock().push((stage, took));
        }
        tracing::info!(stage, recalled, elapsed_ms = millis(elapsed), "stage done");
        self.observe(RunEvent::StageDone { stage, elapsed, recalled });
        let pause = self.shared.settings.pause_after.clone().filter(|(paused, _)| paused == stage);
        Box::pin(async move {
            if let Some((_, pause)) = pause {
                tokio::time::sleep(pause).await;
            }
        })
    }

    fn stage_failed(&self, stage: StageName, elapsed: Duration, code: FailureCode) {
        self.shared.metrics.observe_stage(stage, elapsed);
        self.failed.lock().push((stage, code));
        tracing::warn!(stage, failure_code = code.as_str(), elapsed_ms = millis(elapsed), "stage failed");
        self.observe(RunEvent::StageFailed { stage, elapsed, code });
    }
}

fn millis(elapsed: Duration) -> u64 {
    u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX)
}

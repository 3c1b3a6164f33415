//! What this process says of itself, for operators: that it lives, with how many slots, and what it ended.

use std::{sync::Arc, time::Duration};

use ledger::{Ledger, StoredJob};
use operations::{Operations, Process, RUN_MILLIS, RunCounts};
use parking_lot::Mutex;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use worker::{Ended, RunEvent, RunObserver};

use crate::{
    config::{Config, Dispatch, Role},
    lifecycle::Lifecycle,
    process::process_name,
};

/// How often; one that was not seen for four times as long is taken for dead.
const EVERY: Duration = Duration::from_secs(5);

/// Counts how the runs of this process end, those of its worker and those with people's own keys alike.
#[derive(Default)]
pub(crate) struct RunCounter {
    ended: Mutex<RunCounts>,
}

impl RunCounter {
    /// What has ended so far. The ledger knows what was said before: an answer that is lost counts nothing twice.
    fn ended(&self) -> RunCounts {
        *self.ended.lock()
    }

    fn count(&self, end: Ended, elapsed: Duration) {
        let mut ended = self.ended.lock();
        match end {
            Ended::Completed => ended.completed += 1,
            Ended::Failed { .. } => ended.failed += 1,
            // A refused key costs no attempt.
            Ended::Released { .. } | Ended::Parked => ended.released += 1,
            Ended::Lost => ended.lost += 1,
        }
        let place = RUN_MILLIS.iter().position(|bound| elapsed.as_millis() <= u128::from(*bound));
        // A released run does not count in "length of runs": an unreachable server would make them look short.
        if !matches!(end, Ended::Completed | Ended::Failed { .. }) {
            return;
        }
        if let Some(count) = ended.lengths.get_mut(place.unwrap_or(RUN_MILLIS.len())) {
            *count += 1;
        }
    }
}

impl RunObserver for RunCounter {
    fn observe(&self, _: &StoredJob, event: RunEvent) {
        if let RunEvent::RunEnded { end, elapsed } = event {
            self.count(end, elapsed);
        }
    }
}

/// Reports this process to a shard until it stops, and takes its leave.
pub(crate) fn start(
    config: &Config,
    ledger: &Ledger,
    counter: Arc<RunCounter>,
    tasks: &TaskTracker,
    lifecycle: &Lifecycle,
) {
    tasks.spawn(report(Operations::new(ledger), process(config), counter, lifecycle.soft.clone()));
}

async fn report(
    operations: Operations,
    mut process: Process,
    counts: Arc<RunCounter>,
    soft: CancellationToken,
) {
    let mut failed = false;
    loop {
        process.stopping = soft.is_cancelled();
        match operations.db().in_time(operations.report_process(&process, &counts.ended())).await {
            Ok(()) => failed = false,
            Err(error) => {
                // Logged once: other parts log an unreachable database loudly.
                if !std::mem::replace(&mut failed, true) {
                    tracing::warn!(%error, "this process could not be reported");
                }
            }
        }
        if process.stopping {
            return;
        }
        soft.run_until_cancelled(tokio::time::sleep(EVERY)).await;
    }
}

/// Says what ended since the last report, once everything has come to rest: runs that were drained count as well.
pub(crate) async fn last_words(config: &Config, operations: &Operations, counter: &RunCounter) {
    let ended = counter.ended();
    if ended == RunCounts::default() {
        return;
    }
    let process = Process { stopping: true, ..process(config) };
    if let Err(error) = operations.report_process(&process, &ended).await {
        tracing::warn!(%error, "the last runs of this process were not counted");
    }
}

fn process(config: &Config) -> Process {
    let role = |role: Role, name: &str| config.has(role).then(|| name.to_owned());
    let roles = [role(Role::Api, "api"), role(Role::Worker, "worker"), role(Role::Reconciler, "reconciler")];
    let slots = |slots: usize, has: bool| if has { u32::try_from(slots).unwrap_or(u32::MAX) } else { 0 };
    let runs_finalizations = match config.finalization_dispatch_mode {
        Dispatch::CloudTasks => config.takes_deliveries(),
        Dispatch::Inline | Dispatch::Postgres => config.has(Role::Worker),
    };
    Process {
        id: process_name(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        roles: roles.into_iter().flatten().collect(),
        dispatch_mode: match config.finalization_dispatch_mode {
            Dispatch::Inline => "inline",
            Dispatch::Postgres => "postgres",
            Dispatch::CloudTasks => "cloud_tasks",
        }
        .to_owned(),
        finalization_slots: slots(config.finalization_concurrency, runs_finalizations),
        creation_slots: slots(config.creation_concurrency, config.has(Role::Worker)),
        stopping: false,
    }
}

#[cfg(test)]
mod tests {
    use job::FailureCode;

    use super::*;

    #[test]
    fn only_spent_attempts_count_as_failed() {
        let run_counter = RunCounter::default();
        for end in [
            Ended::Completed,
            Ended::Failed {
                code: FailureCode::ModelTimeout,
                retry_after: None,
                dead_letter: false,
                ready_at: None,
            },
            Ended::Released { delay: Duration::ZERO, ready_at: None },
            Ended::Parked,
            Ended::Lost,
        ] {
            run_counter.count(end, Duration::from_millis(1));
        }
        let counts = run_counter.ended();
        assert_eq!((counts.completed, counts.failed, counts.released, counts.lost), (1, 1, 2, 1));
        assert_eq!(counts.lengths.iter().sum::<u64>(), 2, "what was given back has no length");
    }
}

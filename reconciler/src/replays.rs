//! Bulk replays: the processes with the role work them off step by step, and follow what becomes of their jobs.

use std::{panic::AssertUnwindSafe, time::Duration};

use db::Error;
use futures::FutureExt;
use operations::{Operations, Stepped};
use tokio_util::sync::CancellationToken;

/// How often a process looks for an operation that is due.
const LOOK: Duration = Duration::from_millis(500);
/// How long to wait after the database did not answer.
const TROUBLE: Duration = Duration::from_secs(2);
/// How often a process records what became of the jobs of operations that are not worked on.
const FOLLOW: Duration = Duration::from_secs(5);
/// Every so many times also what became of jobs that were parked.
const PARKED: u32 = 12;

/// Works off bulk replays until `stop`: the running ones take turns, and one that waits for its rate or its jobs is skipped.
/// Any process makes the next step. `executor` is shown to operators. Meanwhile the jobs of operations that
/// were paused or cancelled are followed until they come to rest.
pub async fn work_off_replays(operations: Operations, executor: String, stop: CancellationToken) {
    tokio::join!(work_off(&operations, &executor, &stop), follow(&operations, &stop));
}

async fn work_off(operations: &Operations, executor: &str, stop: &CancellationToken) {
    let mut last = String::new();
    while !stop.is_cancelled() {
        let stepped = AssertUnwindSafe(step(operations, executor, &mut last)).catch_unwind().await;
        let wait = match stepped {
            Ok(Ok(true)) => continue,
            Ok(Ok(false)) => LOOK,
            Ok(Err(error)) => {
                tracing::warn!(%error, operation = last.as_str(), "a replay could not go on; once more");
                if error.is_of_one_row() { Duration::ZERO } else { TROUBLE }
            }
            Err(_) => {
                tracing::error!(operation = last.as_str(), "a step of a replay panicked; once more");
                TROUBLE
            }
        };
        stop.run_until_cancelled(tokio::time::sleep(wait)).await;
    }
}

/// A step of the operation that is due behind `last`. `false`: none is due, or another process has it locked.
async fn step(operations: &Operations, executor: &str, last: &mut String) -> Result<bool, Error> {
    let Some(due) = operations.db().in_time(operations.due_replay(last)).await? else { return Ok(false) };
    *last = due;
    let stepped = operations.db().in_time(operations.step_replay(last, executor)).await?;
    if stepped == Stepped::Done {
        tracing::info!(operation = last.as_str(), "a replay is done");
    }
    Ok(stepped != Stepped::Left)
}

async fn follow(operations: &Operations, stop: &CancellationToken) {
    let mut times = 0_u32;
    while !stop.is_cancelled() {
        let parked = times.is_multiple_of(PARKED);
        times = times.wrapping_add(1);
        if let Err(error) = operations.db().in_time(operations.follow_replays(parked)).await {
            tracing::warn!(%error, "what became of replayed jobs could not be noted; once more");
        }
        stop.run_until_cancelled(tokio::time::sleep(FOLLOW)).await;
    }
}

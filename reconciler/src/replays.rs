//! Bulk replays: a process with the role takes an operation under its fence and works it off, item by item.

use std::time::Duration;

use db::Error;
use operations::{Operations, ReplayTurn, Stepped};
use tokio::task::{JoinError, JoinSet};
use tokio_util::sync::CancellationToken;

/// How often a process looks for an operation that is not worked on.
const LOOK: Duration = Duration::from_secs(1);
/// How long to wait after the database did not answer.
const TROUBLE: Duration = Duration::from_secs(2);
/// How often a process records what became of the jobs of operations that are not worked on.
const FOLLOW: Duration = Duration::from_secs(5);
/// Every so many times also what became of jobs that were parked.
const PARKED: u32 = 12;
/// Operations that one process works off at once. Most of the time each of them waits: for its rate, or for its jobs.
const AT_ONCE: usize = 32;

/// Works off bulk replays until `stop`: several concurrently, since one may wait for its jobs for a day. What is not done then
/// is given back, and another process goes on at once; after a crash one goes on when the turn has run out. `executor` is
/// shown to operators. Meanwhile the jobs of operations that were paused or cancelled are followed until they come to rest.
pub async fn work_off_replays(operations: Operations, executor: String, stop: CancellationToken) {
    tokio::join!(work_off_all(&operations, &executor, &stop), follow(&operations, &stop));
}

async fn work_off_all(operations: &Operations, executor: &str, stop: &CancellationToken) {
    let mut turns = JoinSet::new();
    while !stop.is_cancelled() {
        let wait = match operations.db().in_time(operations.take_replay(executor)).await {
            Ok(Some(turn)) => {
                tracing::info!(operation = turn.operation_id, epoch = turn.epoch, "working off a replay");
                turns.spawn(work_off(operations.clone(), turn, stop.clone()));
                Duration::ZERO
            }
            Ok(None) => LOOK,
            Err(error) => {
                tracing::warn!(%error, "no replay could be looked for");
                TROUBLE
            }
        };
        stop.run_until_cancelled(tokio::time::sleep(wait)).await;
        while let Some(ended) = at_most(AT_ONCE - 1, &mut turns).await {
            tell_of_panic(&ended);
        }
    }
    while let Some(ended) = turns.join_next().await {
        tell_of_panic(&ended);
    }
}

/// One that has ended, waited for where more than `most` are under way.
async fn at_most(most: usize, turns: &mut JoinSet<()>) -> Option<Result<(), JoinError>> {
    match turns.try_join_next() {
        None if turns.len() > most => turns.join_next().await,
        ended => ended,
    }
}

/// The turn runs out then, and another process takes it over.
fn tell_of_panic(ended: &Result<(), JoinError>) {
    if let Err(error) = ended {
        tracing::error!(%error, "working off a replay has failed");
    }
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

/// Steps until the operation is done, lost, or the process stops.
async fn work_off(operations: Operations, turn: ReplayTurn, stop: CancellationToken) {
    while !stop.is_cancelled() {
        match operations.db().in_time(operations.step_replay(&turn)).await {
            Ok(Stepped::Replayed | Stepped::Refused) => {}
            Ok(Stepped::Wait(wait)) => {
                stop.run_until_cancelled(tokio::time::sleep(wait)).await;
            }
            Ok(Stepped::Done) => {
                tracing::info!(operation = turn.operation_id, "a replay is done");
                return;
            }
            Ok(Stepped::Lost) => {
                tracing::info!(operation = turn.operation_id, "a replay was paused, cancelled or taken over");
                return;
            }
            Err(error) => {
                tracing::warn!(%error, operation = turn.operation_id, "an item could not be replayed; once more");
                stop.run_until_cancelled(tokio::time::sleep(TROUBLE)).await;
            }
        }
    }
    give_back(&operations, &turn).await;
}

async fn give_back(operations: &Operations, turn: &ReplayTurn) {
    let left: Result<(), Error> = operations.db().in_time(operations.leave_replay(turn)).await;
    if let Err(error) = left {
        tracing::warn!(%error, "a replay could not be given back; another process goes on when the turn runs out");
    }
}

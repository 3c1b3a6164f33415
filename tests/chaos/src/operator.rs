//! An operator: replays dead letters one by one and in bulk, pauses and cancels bulk replays, and marks a user during the run.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::people;
use crate::program;
use crate::world::World;

/// Looks until all that has died is replayed in bulk. The look after it is paused, and the next one ends that.
const IN_BULK: u32 = 4;
/// Of so many replays in bulk one is cancelled when it was paused; the others go on.
const CANCELLED: u32 = 3;
/// Of so many some of the jobs are replayed one by one while it is paused, though they are on its list.
const ONE_BY_ONE: u32 = 2;

/// Looks every two seconds, until the run is over.
pub(crate) async fn operate(world: Arc<World>, stop: CancellationToken) {
    let begun = world.journal.now();
    let (mut marked, mut looks) = (false, 0_u32);
    while tokio::time::timeout(Duration::from_secs(2), stop.cancelled()).await.is_err() {
        if !marked && world.journal.now() - begun > world.plan.length.as_secs_f64() / 2.0 {
            marked = people::mark(&world.postgres.url("cli-mark"), "marked").await;
        }
        looks += 1;
        let in_bulk = looks / IN_BULK;
        match looks % IN_BULK {
            0 => replay_all(&world).await,
            1 => {
                change(&world, "running", "pause").await;
                if in_bulk.is_multiple_of(ONE_BY_ONE) {
                    replay(&world, 2).await;
                }
            }
            2 if in_bulk.is_multiple_of(CANCELLED) => change(&world, "paused", "cancel").await,
            2 => resume(&world).await,
            _ => {}
        }
    }
}

/// Replays some dead letters as an operator would. Which one is read from the table; a refusal is fine.
pub(crate) async fn replay(world: &World, limit: i64) {
    let dead: Result<Vec<String>, _> = sqlx::query_scalar(
        "select job_id from finalization_jobs j where status = 'dead_letter' and not exists (select from \
             finalization_admissions a where a.user_id = j.user_id and a.conversation_id = j.conversation_id \
             and a.revision > j.revision) order by updated_at limit $1",
    )
    .bind(limit)
    .fetch_all(&world.pool)
    .await;
    for job in dead.unwrap_or_default() {
        let words = ["jobs", "replay", &job, "--reason", "chaos", "--operator", "kit"];
        program::command(&world.postgres.url("cli-replay"), &words).await;
    }
}

/// Lets whatever is paused go on: at the end of a run, too, or it would never be done.
pub(crate) async fn resume(world: &World) {
    change(world, "paused", "resume").await;
}

/// Pauses, resumes or cancels what has that status. One that has come to its end meanwhile refuses, which is fine.
async fn change(world: &World, status: &str, verb: &str) {
    let found: Result<Vec<String>, _> =
        sqlx::query_scalar("select operation_id from replay_operations where status = $1")
            .bind(status)
            .fetch_all(&world.pool)
            .await;
    for operation in found.unwrap_or_default() {
        let words = ["replays", verb, &operation, "--reason", "chaos", "--operator", "kit-bulk"];
        program::command(&world.postgres.url("cli-bulk"), &words).await;
    }
}

/// Asks for a replay of all dead letters, which the processes work off: slowly, so that some are left when it is paused. With
/// none there is nothing to ask for.
async fn replay_all(world: &World) {
    let what = ["jobs", "replay", "--all", "--rate", "120", "--detach", "--yes"];
    let words = [what.as_slice(), &["--reason", "chaos", "--operator", "kit-bulk"]].concat();
    program::command(&world.postgres.url("cli-bulk"), &words).await;
}

//! An operator: replays dead letters, one by one and all at once, and marks a person in the middle.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::people;
use crate::program;
use crate::run::World;

/// Looks until all that has died is replayed in bulk, and until some is replayed one by one: seldom, so that some has.
const IN_BULK: u32 = 4;
const ONE_BY_ONE: u32 = 6;

/// Looks every two seconds, until the run is over.
pub(crate) async fn operate(world: Arc<World>, stop: CancellationToken) {
    let begun = world.journal.now();
    let (mut marked, mut looks) = (false, 0_u32);
    while tokio::time::timeout(Duration::from_secs(2), stop.cancelled()).await.is_err() {
        if !marked && world.journal.now() - begun > world.plan.length.as_secs_f64() / 2.0 {
            marked = people::mark(&world.postgres.url("cli-mark"), "marked").await;
        }
        looks += 1;
        if looks.is_multiple_of(IN_BULK) {
            replay_all(&world).await;
        } else if looks.is_multiple_of(ONE_BY_ONE) {
            replay(&world, 3).await;
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

/// Asks for a replay of all dead letters, which the processes work off. With none there is nothing to ask for.
async fn replay_all(world: &World) {
    let words =
        ["jobs", "replay", "--all", "--detach", "--yes", "--reason", "chaos", "--operator", "kit-bulk"];
    program::command(&world.postgres.url("cli-bulk"), &words).await;
}

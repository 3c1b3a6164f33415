//! The operators' lists, of one shard or of several in one order: what the command line prints and the console shows.

use std::cmp::Reverse;

use ledger::JobView;
use operations::{
    ActionFilter, ActionView, EndpointView, GivenUp, JobCursor, JobFilter, Operations, OperatorApp,
    ReplayView,
};
use records::{Timestamp, UserId};
use store::LiveView;

use crate::over_shards::{Merged, ShardError, merged};

/// A place in a list that is ordered by time and id.
pub(crate) type Place = (Timestamp, String);

/// A job with its place in the list, and the moment from which its age counts.
pub(crate) type JobLine = (JobCursor, Timestamp, JobView);

/// Jobs, newest first.
pub(crate) async fn jobs<E: ShardError, F: Future<Output = Result<JobFilter, E>>>(
    shards: &[Operations],
    filter: impl Fn(Operations) -> F,
) -> Result<Merged<JobLine>, E> {
    let read = |shard: Operations| {
        let filter = filter(shard.clone());
        async move {
            let filter = filter.await?;
            let page = shard.db().in_time(shard.jobs_page(&filter)).await?;
            let line = |view: JobView| (filter.cursor(&view), filter.admitted_at(&view), view);
            Ok(page.jobs.into_iter().map(line).collect())
        }
    };
    let key = |line: &JobLine| (line.0.at, line.0.job.as_str().to_owned());
    merged(shards, read, |one, other| key(other).cmp(&key(one))).await
}

/// What operators did, newest first.
pub(crate) async fn actions<E: ShardError>(
    shards: &[Operations],
    filter: &ActionFilter,
) -> Result<Merged<ActionView>, E> {
    let read = |shard: Operations| async move { Ok(shard.db().in_time(shard.actions(filter)).await?) };
    let key = |action: &ActionView| (action.created_at, action.action_id.clone());
    merged(shards, read, |one, other| key(other).cmp(&key(one))).await
}

/// Apps of a user or of all, newest first, behind a place.
pub(crate) async fn apps<E: ShardError>(
    shards: &[Operations],
    user: Option<&UserId>,
    before: Option<&Place>,
    limit: i64,
) -> Result<Merged<OperatorApp>, E> {
    let read = |shard: Operations| async move {
        Ok(shard.db().in_time(shard.operator_apps(user, None, before, limit)).await?)
    };
    let key = |app: &OperatorApp| (Reverse(app.created_at), app.id.clone());
    merged(shards, read, |one, other| key(one).cmp(&key(other))).await
}

/// Bulk replays, newest first.
pub(crate) async fn replays<E: ShardError>(
    shards: &[Operations],
    limit: i64,
) -> Result<Merged<ReplayView>, E> {
    let read =
        |shard: Operations| async move { Ok(shard.db().in_time(shard.replay_operations(limit)).await?) };
    let key = |view: &ReplayView| (Reverse(view.created_at), view.operation_id.clone());
    merged(shards, read, |one, other| key(one).cmp(&key(other))).await
}

/// Endpoints of a user, or those of all that are in trouble, the last that changed first.
pub(crate) async fn endpoints<E: ShardError>(
    shards: &[Operations],
    user: Option<&UserId>,
    limit: i64,
) -> Result<Merged<EndpointView>, E> {
    let read = |shard: Operations| async move {
        Ok(shard.db().in_time(shard.endpoint_views(user, None, limit)).await?)
    };
    merged(shards, read, |one, other| other.updated_at.cmp(&one.updated_at)).await
}

/// Deliveries of a user or of all that were given up, newest first, behind a place.
pub(crate) async fn given_up<E: ShardError>(
    shards: &[Operations],
    user: Option<&UserId>,
    before: Option<&Place>,
    limit: i64,
) -> Result<Merged<GivenUp>, E> {
    let read = |shard: Operations| async move {
        Ok(shard.db().in_time(shard.given_up_deliveries(user, before.cloned(), limit)).await?)
    };
    let key = |lost: &GivenUp| (lost.finished_at, lost.delivery_id.clone());
    merged(shards, read, |one, other| key(other).cmp(&key(one))).await
}

/// Live conversations of a user or of all, the next to be processed first.
pub(crate) async fn live<E: ShardError>(
    shards: &[Operations],
    user: Option<&UserId>,
    limit: i64,
) -> Result<Merged<LiveView>, E> {
    let read = |shard: Operations| async move {
        Ok(shard.db().in_time(shard.store().list_live(user.map(UserId::as_str), limit)).await?)
    };
    let key = |live: &LiveView| (live.process_after, live.user_id.clone(), live.conversation_id.clone());
    merged(shards, read, |one, other| key(one).cmp(&key(other))).await
}

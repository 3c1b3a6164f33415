//! Looking before, and freezing the list.

use db::{Error, query};
use ledger::OperatorAction;
use sqlx::{PgConnection, Postgres, QueryBuilder};
use uuid::Uuid;

use super::{ReplayOrder, ReplayView};
use crate::{JobFilter, Operations, verify::patience};

/// Jobs that one operation may have.
const MOST: i64 = 100_000;

/// A long list takes longer than an operation may; no row is locked meanwhile.
const LONG_LIST: &str = "60s";

const RECENT_CALLS: &str = "with recent as (select user_id, job_id from finalization_jobs where status = 'completed' \
         order by finished_at desc limit 1000) \
     select (select count(*) from recent) as jobs, \
         (select coalesce(sum(u.calls), 0)::bigint from recent r join engine_usage u using (user_id, job_id)) as calls";

#[derive(sqlx::FromRow)]
struct Recent {
    jobs: i64,
    calls: i64,
}

/// What was found that died of one code.
#[derive(sqlx::FromRow)]
struct FoundOfCode {
    dead_code: String,
    jobs: i64,
    parked: i64,
    recorded_stages: i64,
    /// Of all codes together.
    users: i64,
}

/// What a replay of everything that a filter finds would do, now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReplayPreview {
    /// Dead letters that it finds, settled ones left out; an operation takes 100,000 at most.
    pub jobs: i64,
    /// By code, most first.
    pub codes: Vec<(String, i64)>,
    /// Of how many people.
    pub users: i64,
    /// Would be parked until their users bring keys.
    pub parked: i64,
    /// Stage outputs that are recorded: not paid for again, unless the replay is from scratch.
    pub recorded_stages: i64,
    /// The newest completed jobs, 1,000 at most: what they cost is the best guess of what these will.
    pub recent_jobs: i64,
    /// Calls to model servers of those.
    pub recent_calls: i64,
}

impl ReplayPreview {
    /// Adds what another shard has of it.
    pub fn add(&mut self, other: &Self) {
        for (code, jobs) in &other.codes {
            match self.codes.iter_mut().find(|(known, _)| known == code) {
                Some((_, count)) => *count += jobs,
                None => self.codes.push((code.clone(), *jobs)),
            }
        }
        self.codes.sort_by(|one, two| (two.1, &one.0).cmp(&(one.1, &two.0)));
        self.jobs += other.jobs;
        self.users += other.users;
        self.parked += other.parked;
        self.recorded_stages += other.recorded_stages;
        self.recent_jobs += other.recent_jobs;
        self.recent_calls += other.recent_calls;
    }
}

impl Operations {
    /// What a replay of everything that `filter` finds would do.
    pub async fn preview_replay(&self, filter: &JobFilter) -> Result<ReplayPreview, Error> {
        let (mut transaction, _) = self.db.begin().await?;
        patience(&mut transaction, LONG_LIST).await?;
        let mut query = QueryBuilder::new("with found as materialized (");
        push_found(&mut query, filter);
        query.push(
            ") select dead_code, count(*) as jobs, \
                 count(*) filter (where f.requires_keys or exists (select from users u \
                     where u.user_id = f.user_id and u.requires_byok)) as parked, \
                 sum((select count(*) from stage_checkpoints k where k.user_id = f.user_id \
                     and k.job_id = f.job_id and k.stage <> 'read_context'))::bigint as recorded_stages, \
                 (select count(distinct user_id) from found) as users \
             from found f group by dead_code order by 2 desc, 1",
        );
        let rows: Vec<FoundOfCode> = query.build_query_as().fetch_all(&mut *transaction).await?;
        let recent: Recent = sqlx::query_as(RECENT_CALLS).fetch_one(&mut *transaction).await?;
        let mut preview = ReplayPreview {
            recent_jobs: recent.jobs,
            recent_calls: recent.calls,
            ..ReplayPreview::default()
        };
        for row in rows {
            preview.jobs += row.jobs;
            preview.parked += row.parked;
            preview.recorded_stages += row.recorded_stages;
            preview.users = row.users;
            preview.codes.push((row.dead_code, row.jobs));
        }
        Ok(preview)
    }

    /// Freezes what the order's filter finds now, oldest first, and lets the processes work it off. `id` names the
    /// operation: a repeat with the same one finds the first. `None`: the filter finds nothing.
    pub async fn start_replay(
        &self,
        id: Uuid,
        order: &ReplayOrder,
        action: &OperatorAction,
    ) -> Result<Option<ReplayView>, Error> {
        let (mut transaction, now) = self.db.begin().await?;
        patience(&mut transaction, LONG_LIST).await?;
        let made = query!(
            "orders/open.sql",
            id.to_string(),
            &action.operator,
            &action.reason,
            &order.words,
            order.from_scratch,
            order.per_minute.max(1),
            order.in_flight.max(1),
            now
        )
        .execute(&mut *transaction)
        .await?;
        if made.rows_affected() > 0 {
            let items = freeze(&mut transaction, id, &order.filter).await?;
            if items == 0 {
                return Ok(None);
            }
            let subject = id.to_string();
            action.record(&mut transaction, "bulk_replay", None, &subject, now).await?;
            transaction.commit().await?;
        }
        self.replay_operation(&id.to_string()).await
    }
}

/// The list, and its length.
async fn freeze(connection: &mut PgConnection, id: Uuid, filter: &JobFilter) -> Result<i32, sqlx::Error> {
    let mut query = QueryBuilder::new(
        "with listed as (insert into replay_items (operation_id, position, user_id, job_id, generation) select ",
    );
    query.push_bind(id.to_string());
    query.push(", row_number() over (order by created_at, job_id), user_id, job_id, generation from (");
    push_found(&mut query, filter);
    query.push(
        ") found returning 1) \
         update replay_operations set items = (select count(*) from listed) where operation_id = ",
    );
    query.push_bind(id.to_string()).push(" returning items");
    query.build_query_scalar().fetch_one(connection).await
}

/// The unsettled dead letters that a filter finds, oldest first.
fn push_found(query: &mut QueryBuilder<Postgres>, filter: &JobFilter) {
    let dead = JobFilter { status: Some("dead_letter".to_owned()), unsettled: true, ..filter.clone() };
    query.push("select * from finalization_jobs where status = 'dead_letter'");
    dead.narrow(query);
    query.push(" order by created_at, job_id limit ").push_bind(MOST);
}

//! What must hold in every database, asked of a live one. Each check is one statement, so it sees one moment.

use db::{Doing, Error};
use job::Timestamp;
use ledger::{
    OperatorAction,
    operator::{Audited, write_action},
};
use sqlx::PgConnection;

use crate::Operations;

/// A promise, and the query that finds those who break it.
#[derive(Clone, Copy, Debug)]
pub struct Check {
    /// Its name, of a closed list.
    pub name: &'static str,
    /// What is promised.
    pub promise: &'static str,
    query: &'static str,
}

/// What a check found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The check's name.
    pub name: &'static str,
    /// What is promised.
    pub promise: &'static str,
    /// Those who break it: ids and what is wrong, never a person's words. At most as many as were asked for.
    pub offenders: Vec<String>,
    /// There are more.
    pub more: bool,
}

/// All checks, in the order in which they are asked.
pub const CHECKS: [Check; 14] = [
    Check {
        name: "admissions_have_jobs",
        promise: "every admission of the last day has its job",
        query: "select a.user_id || ' ' || a.conversation_id || ' revision ' || a.revision \
            from finalization_admissions a where a.admitted_at > now() - interval '1 day' \
            and not exists (select from finalization_jobs j where j.user_id = a.user_id and j.job_id = a.job_id)",
    },
    Check {
        name: "jobs_were_admitted",
        promise: "every job has its admission",
        query: "select j.job_id from finalization_jobs j where not exists (select from finalization_admissions a \
            where a.user_id = j.user_id and a.conversation_id = j.conversation_id and a.revision = j.revision \
            and a.job_id = j.job_id)",
    },
    Check {
        name: "one_completion",
        promise: "a revision completes at most once",
        query: "select min(job_id) || ' and others of one revision' from finalization_jobs \
            where status = 'completed' group by user_id, conversation_id, revision having count(*) > 1 \
            union all select job_id || ' completed more than once' from finalization_jobs \
            where jsonb_array_length(jsonb_path_query_array(history, '$[*] ? (@.verb == \"complete\")')) > 1",
    },
    Check {
        name: "live_jobs_have_owners",
        promise: "a live job has an owner and a time at which it is checked",
        query: "select job_id || ' ' || status || case when reconcile_after_at is null then ' has no such time' \
                else ' should have been checked by ' || reconcile_after_at end \
            from finalization_jobs where status not in ('completed', 'dead_letter') \
            and (reconcile_after_at is null \
                or status <> 'queued' and reconcile_after_at < now() - interval '1 hour')",
    },
    Check {
        name: "conversations_are_processed_by_jobs",
        promise: "a conversation in processing has a live job",
        query: "select c.user_id || ' ' || c.conversation_id from conversations c where c.status = 'processing' \
            and not exists (select from finalization_jobs j where j.user_id = c.user_id \
                and j.conversation_id = c.conversation_id and j.status in ('queued', 'leased', 'blocked_byok'))",
    },
    Check {
        name: "jobs_and_conversations_agree",
        promise: "the newest job and its conversation say the same",
        query: "select j.job_id || ' is ' || j.status || ', its conversation ' || c.status \
            from finalization_jobs j join conversations c on c.user_id = j.user_id \
                and c.conversation_id = j.conversation_id and c.finalization_revision = j.revision \
            where case j.status when 'completed' then c.status <> 'completed' \
                when 'dead_letter' then j.origin <> 'reprocess' and c.status <> 'failed' \
                else j.origin <> 'reprocess' and c.status <> 'processing' end",
    },
    Check {
        name: "live_jobs_have_conversations",
        promise: "a live job has its conversation",
        query: "select j.job_id || ' ' || j.status from finalization_jobs j \
            where j.status in ('queued', 'leased', 'blocked_byok') and not exists (select from conversations c \
                where c.user_id = j.user_id and c.conversation_id = j.conversation_id)",
    },
    Check {
        name: "totals_recount",
        promise: "the totals of finished jobs are what is there",
        query: "select coalesce(t.status, r.status) || ': total ' || coalesce(t.jobs, 0) || ', counted ' \
                || coalesce(r.jobs, 0) \
            from (select status, sum(jobs) as jobs from finalization_totals group by status) t \
            full join (select status, count(*) as jobs from finalization_jobs \
                where status in ('completed', 'dead_letter') group by status) r using (status) \
            where coalesce(t.jobs, 0) <> coalesce(r.jobs, 0)",
    },
    Check {
        name: "dead_letters_recount",
        promise: "the totals of dead letters by code are what is there",
        query: "select coalesce(t.code, r.code) || case when settled then ', settled' else '' end || ': total ' \
                || coalesce(t.jobs, 0) || ', counted ' || coalesce(r.jobs, 0) \
            from (select code, settled, sum(jobs) as jobs from dead_letter_totals group by 1, 2) t \
            full join (select dead_code as code, settled_at is not null as settled, count(*) as jobs \
                from finalization_jobs where status = 'dead_letter' group by 1, 2) r using (code, settled) \
            where coalesce(t.jobs, 0) <> coalesce(r.jobs, 0)",
    },
    Check {
        name: "keys_never_queue",
        promise: "a job that requires its user's keys never waits for a worker that has none",
        query: "select job_id from finalization_jobs where requires_keys and status = 'queued'",
    },
    Check {
        name: "numbers_only_grow",
        promise: "versions, epochs and generations only grow, and no checkpoint is of a claim that was never made",
        query: "select job_id || ' at version ' || version from (select job_id, n, \
                (event -> 'v')::bigint as version, (event -> 'epoch')::bigint as epoch, \
                coalesce((event -> 'gen')::bigint, 1) as generation, \
                lag((event -> 'v')::bigint) over w as version_before, \
                lag((event -> 'epoch')::bigint) over w as epoch_before, \
                lag(coalesce((event -> 'gen')::bigint, 1)) over w as generation_before \
                from finalization_jobs, jsonb_array_elements(history) with ordinality h (event, n) \
                window w as (partition by user_id, job_id order by n)) edges \
            where version <= version_before or epoch < epoch_before or generation < generation_before \
            union all select c.job_id || ' has a checkpoint of epoch ' || c.epoch || ', the job is at ' || j.epoch \
                from stage_checkpoints c join finalization_jobs j using (user_id, job_id) where c.epoch > j.epoch",
    },
    Check {
        name: "usage_recounts",
        promise: "the bytes that each user is charged with are those of the user's conversations",
        query: "select coalesce(g.user_id, c.user_id) || ': counted ' || coalesce(g.bytes, 0) || ' bytes, there are ' \
                || coalesce(c.bytes, 0) \
            from user_usage g full join (select user_id, sum(counted_bytes) as bytes from conversations \
                where counted_bytes is not null group by user_id) c using (user_id) \
            where coalesce(g.bytes, 0) <> coalesce(c.bytes, 0) and not exists (select from users u \
                where u.user_id = coalesce(g.user_id, c.user_id) and u.deleting_since is not null)",
    },
    // An operation's transaction idles for five seconds at most.
    Check {
        name: "sessions_hold_no_transaction",
        promise: "no session of the service is left in a transaction, where acknowledged writes would be lost",
        query: "select 'session ' || pid || ' is ' || state || ' since ' || xact_start from pg_stat_activity \
            where datname = current_database() and state like 'idle in transaction%' \
            and application_name = current_setting('application_name') and pid <> pg_backend_pid() \
            and xact_start < statement_timestamp() - interval '6 seconds'",
    },
    Check {
        name: "erasures_end",
        promise: "a user who is being deleted is gone within a day: run `listen users delete` again",
        query: "select user_id || ' is being deleted since ' || deleting_since from users \
            where deleting_since < now() - interval '1 day'",
    },
];

impl Operations {
    /// Asks one check; it reads whole tables, for ten minutes at most, and locks nothing.
    ///
    /// # Errors
    /// When the database does not answer in that time.
    pub async fn verify(&self, check: &Check, limit: i64) -> Result<Finding, Error> {
        const DOING: &str = "verifying";
        let (mut transaction, _) = self.db.begin(DOING).await?;
        sqlx::query("set transaction read only").execute(&mut *transaction).await.doing(DOING)?;
        patience(&mut transaction).await.doing(DOING)?;
        let mut offenders: Vec<String> = sqlx::query_scalar(sqlx::AssertSqlSafe(format!(
            "select * from ({}) found limit $1",
            check.query
        )))
        .bind(limit.saturating_add(1))
        .fetch_all(&mut *transaction)
        .await
        .doing(DOING)?;
        let more = i64::try_from(offenders.len()).is_ok_and(|found| found > limit);
        if more {
            offenders.pop();
        }
        Ok(Finding { name: check.name, promise: check.promise, offenders, more })
    }

    /// Counts finished jobs, and what users store, anew and sets their totals right, while the service runs. Answers whether a total was wrong.
    ///
    /// # Errors
    /// When the database does not answer in ten minutes.
    pub async fn recount(&self, action: &OperatorAction) -> Result<bool, Error> {
        const DOING: &str = "recounting";
        let (mut transaction, now) = self.db.begin(DOING).await?;
        patience(&mut transaction).await.doing(DOING)?;
        // Two at once would both add what was missing before either.
        sqlx::query("select pg_advisory_xact_lock($1)")
            .bind(RECOUNT)
            .execute(&mut *transaction)
            .await
            .doing(DOING)?;
        let mut corrected = recount_statuses(&mut transaction).await.doing(DOING)?;
        corrected += recount_codes(&mut transaction).await.doing(DOING)?;
        corrected += recount_usage(&mut transaction, now).await.doing(DOING)?;
        if corrected > 0 {
            note(&mut transaction, action, now).await.doing(DOING)?;
        }
        transaction.commit().await.doing(DOING)?;
        Ok(corrected > 0)
    }
}

/// The advisory lock of a recount: "recount" in ASCII.
const RECOUNT: i64 = 0x0072_6563_6f75_6e74;

async fn patience(connection: &mut PgConnection) -> Result<(), sqlx::Error> {
    sqlx::query("select set_config('statement_timeout', '600s', true)").execute(connection).await.map(drop)
}

async fn note(
    connection: &mut PgConnection,
    action: &OperatorAction,
    now: Timestamp,
) -> Result<(), sqlx::Error> {
    let audited = Audited { user: None, verb: "recount", subject: "totals" };
    write_action(connection, audited, action, now).await
}

/// What is missing is computed in one snapshot from both sides and *added*: an edge that commits meanwhile changed
/// both sides alike, and what is added is added to the newest total. So no transaction has to wait. Only the sum of a
/// status' stripes means something: batches are counted on the stripe of their first job. A stripe that is not there counts
/// nothing of what falls to it, so it is made anew.
async fn recount_statuses(connection: &mut PgConnection) -> Result<u64, sqlx::Error> {
    sqlx::query(
        "insert into finalization_totals as t (status, stripe, jobs) \
         select m.status, s.stripe, case s.stripe when 0 then m.jobs else 0 end \
         from (select status, sum(jobs) as jobs from (select status, -jobs as jobs from finalization_totals \
                 union all select status, 1 from finalization_jobs where status in ('completed', 'dead_letter') \
                 union all select * from (values ('completed', 0), ('dead_letter', 0)) every) d group by status) m, \
             generate_series(0, 15) s (stripe) \
         where s.stripe = 0 and m.jobs <> 0 or not exists (select from finalization_totals e \
             where e.status = m.status and e.stripe = s.stripe) \
         on conflict (status, stripe) do update set jobs = t.jobs + excluded.jobs",
    )
    .execute(connection)
    .await
    .map(|done| done.rows_affected())
}

async fn recount_codes(connection: &mut PgConnection) -> Result<u64, sqlx::Error> {
    sqlx::query(
        "insert into dead_letter_totals as t (code, settled, stripe, jobs) \
         select code, settled, 0, sum(jobs) from (select code, settled, -jobs as jobs from dead_letter_totals \
             union all select dead_code, settled_at is not null, 1 from finalization_jobs \
                 where status = 'dead_letter') d group by code, settled having sum(jobs) <> 0 \
         on conflict (code, settled, stripe) do update set jobs = t.jobs + excluded.jobs",
    )
    .execute(connection)
    .await
    .map(|done| done.rows_affected())
}

async fn recount_usage(connection: &mut PgConnection, now: Timestamp) -> Result<u64, sqlx::Error> {
    sqlx::query(
        "insert into user_usage as g (user_id, day, conversations, bytes) \
         select user_id, $1, 0, sum(bytes) from (select user_id, -bytes as bytes from user_usage \
             union all select user_id, counted_bytes from conversations where counted_bytes is not null) d \
         group by user_id having sum(bytes) <> 0 order by user_id \
         on conflict (user_id) do update set bytes = g.bytes + excluded.bytes",
    )
    .bind(now.date_naive())
    .execute(connection)
    .await
    .map(|done| done.rows_affected())
}

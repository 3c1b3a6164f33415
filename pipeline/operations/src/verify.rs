//! What must hold in every database, asked of a live one. Each check is one statement, so it sees one moment.

use db::{Error, query, sql};
use ledger::OperatorAction;
use sqlx::PgConnection;

use crate::Operations;

/// A promise, and the query that finds those who break it.
#[derive(Clone, Copy, Debug)]
pub struct Check {
    pub name: &'static str,
    pub promise: &'static str,
    query: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub name: &'static str,
    pub promise: &'static str,
    /// Those who break it: ids and what is wrong, never a person's words. At most as many as were asked for.
    pub offenders: Vec<String>,
    pub more: bool,
}

/// Makes the list of checks: the name, the promise, and the statement.
macro_rules! checks {
    ($($name:ident: $promise:literal, $query:expr;)+) => {
        /// All checks, in the order in which they are asked.
        pub const CHECKS: [Check; [$($promise),+].len()] =
            [$(Check { name: stringify!($name), promise: $promise, query: $query }),+];
    };
}

checks! {
    admissions_have_jobs: "every admission of the last day has its job",
        sql!("verify/admissions_have_jobs.sql");
    jobs_were_admitted: "every job has its admission",
        sql!("verify/jobs_were_admitted.sql");
    one_completion: "a revision completes at most once",
        sql!("verify/one_completion.sql");
    live_jobs_have_owners: "a live job has an owner and a time at which it is checked",
        sql!("verify/live_jobs_have_owners.sql");
    conversations_are_processed_by_jobs: "a conversation in processing has a live job",
        sql!("verify/conversations_are_processed_by_jobs.sql");
    jobs_and_conversations_agree: "the newest job and its conversation say the same",
        sql!("verify/jobs_and_conversations_agree.sql");
    live_jobs_have_conversations: "a live job has its conversation",
        sql!("verify/live_jobs_have_conversations.sql");
    totals_recount: "the totals of finished jobs are what is there",
        sql!("verify/totals_recount.sql");
    dead_letters_recount: "the totals of dead letters by code are what is there",
        sql!("verify/dead_letters_recount.sql");
    keys_never_queue: "a job that requires its user's keys never waits for a worker that has none",
        sql!("verify/keys_never_queue.sql");
    numbers_only_grow: "versions, epochs and generations only grow, and no checkpoint is of a claim that was never made",
        sql!("verify/numbers_only_grow.sql");
    usage_recounts: "the bytes that each user is charged with are those of the user's conversations",
        sql!("verify/usage_recounts.sql");
    // An operation's transaction idles for five seconds at most.
    sessions_hold_no_transaction: "no session of the service is left in a transaction, where acknowledged writes would be lost",
        sql!("verify/sessions_hold_no_transaction.sql");
    erasures_end: "a user who is being deleted is gone within a day: run `listen users delete` again",
        sql!("verify/erasures_end.sql");
}

impl Operations {
    /// Asks one check; it reads whole tables, for ten minutes at most, and locks nothing.
    pub async fn verify(&self, check: &Check, limit: i64) -> Result<Finding, Error> {
        let (mut transaction, _) = self.db.begin().await?;
        sqlx::query("set transaction read only").execute(&mut *transaction).await?;
        patience(&mut transaction, WHOLE_TABLES).await?;
        let mut offenders: Vec<String> = sqlx::query_scalar(sqlx::AssertSqlSafe(format!(
            "select * from ({}) found limit $1",
            check.query
        )))
        .bind(limit.saturating_add(1))
        .fetch_all(&mut *transaction)
        .await?;
        let more = i64::try_from(offenders.len()).is_ok_and(|found| found > limit);
        if more {
            offenders.pop();
        }
        Ok(Finding { name: check.name, promise: check.promise, offenders, more })
    }

    /// Counts finished jobs, and what users store, anew and sets their totals right, while the service runs. Answers whether a total was wrong.
    pub async fn recount(&self, action: &OperatorAction) -> Result<bool, Error> {
        let (mut transaction, now) = self.db.begin().await?;
        patience(&mut transaction, WHOLE_TABLES).await?;
        // Two at once would both add what was missing before either.
        query!("recount/lock.sql", RECOUNT).execute(&mut *transaction).await?;
        // What is missing is computed in one snapshot from both sides and *added*: an edge that commits meanwhile changed
        // both sides alike, and what is added is added to the newest total. So no transaction has to wait. Only the sum of a
        // status' stripes means something: batches are counted on the stripe of their first job. A stripe that is not there
        // counts nothing of what falls to it, so it is made anew.
        let statuses = query!("recount/statuses.sql").execute(&mut *transaction).await?;
        let codes = query!("recount/codes.sql").execute(&mut *transaction).await?;
        let usage = query!("recount/usage.sql", now.date_naive()).execute(&mut *transaction).await?;
        let corrected = statuses.rows_affected() + codes.rows_affected() + usage.rows_affected();
        if corrected > 0 {
            action.record(&mut transaction, "recount", None, "totals", now).await?;
        }
        transaction.commit().await?;
        Ok(corrected > 0)
    }
}

/// How long a statement may take that reads whole tables.
const WHOLE_TABLES: &str = "600s";

/// The advisory lock of a recount: "recount" in ASCII.
const RECOUNT: i64 = 0x0072_6563_6f75_6e74;

/// How long each statement of the transaction may take from now on.
pub(crate) async fn patience(connection: &mut PgConnection, longest: &str) -> Result<(), sqlx::Error> {
    query!("sessions/patience.sql", longest).execute(connection).await.map(drop)
}

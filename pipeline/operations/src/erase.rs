//! Erasing a user with everything that belongs to them, in small transactions: an erasure that was interrupted goes on when it is
//! started again.

use db::{Error, array, query, query_as, query_scalar};
use ledger::OperatorAction;
use outbox::reminders::lock_subscriptions;
use records::{ConversationId, UserId};
use sqlx::{AssertSqlSafe, PgConnection};

use crate::{
    Operations,
    prune::{JobRow, remove_jobs},
    verify::patience,
};

/// Rows that one statement removes: it stays far below the statement timeout.
const BATCH: i64 = 2_000;
/// Conversations with a live job that are withdrawn and deleted before the next look.
const LIVE: i64 = 50;

/// How long the rows of one table may be counted.
const LONG_COUNT: &str = "300s";

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ErasureStep {
    /// So many rows of this table were removed; there may be more.
    Removed(&'static str, u64),
    Done,
}

/// The tables that hold rows of a user, children before what they belong to.
pub(super) const TABLES: [&str; 31] = [
    "app_installs",
    "app_keys",
    "apps",
    "user_locations",
    "push_deliveries",
    "push_subscriptions",
    "reminders",
    "webhook_deliveries",
    "webhook_endpoints",
    "audio_webhooks",
    "request_keys",
    "chat_turns",
    "chat_messages",
    "action_items",
    "memories",
    "photos",
    "embeddings",
    "transcript_segments",
    "search_entries",
    "live_usage",
    "conversations",
    "user_usage",
    JOBS,
    "finalization_admissions",
    "deleted_conversations",
    "deleted_extractions",
    "goal_progress",
    "goals",
    "people",
    "folders",
    "developer_keys",
];
/// What is kept of operators' work on a user's jobs and webhooks: who did what and why, without whose they were.
const RECORDS: [&str; 2] = ["replay_items", "operator_actions"];
const JOBS: &str = "finalization_jobs";

impl Operations {
    /// The rows of a user by table, without empty ones. `None`: no such user. A user with millions in one may be erased all the same.
    pub async fn user_rows(&self, user: &UserId) -> Result<Option<Vec<(&'static str, i64)>>, Error> {
        let (mut transaction, _) = self.db.begin().await?;
        patience(&mut transaction, LONG_COUNT).await?;
        let mut counts = Vec::new();
        for table in ["users"].into_iter().chain(TABLES) {
            let count = format!("select count(*) from {table} where user_id = $1");
            let rows: i64 = sqlx::query_scalar(AssertSqlSafe(count))
                .bind(user.as_str())
                .fetch_one(&mut *transaction)
                .await?;
            match (table, rows) {
                ("users", 0) => return Ok(None),
                ("users", _) | (_, 0) => {}
                _ => counts.push((table, rows)),
            }
        }
        Ok(Some(counts))
    }

    /// Marks a user as being deleted, from which moment on nothing of theirs is admitted, revokes their keys, disables their
    /// webhooks, and records the action with the counts of what was found ([`user_rows`](Self::user_rows)). `false`: no such user.
    pub async fn begin_erasure(
        &self,
        user: &UserId,
        found: &[(&str, i64)],
        action: &OperatorAction,
    ) -> Result<bool, Error> {
        let (mut transaction, now) = self.db.begin().await?;
        let marked = query!("erase/mark_user.sql", user, now).execute(&mut *transaction).await?;
        if marked.rows_affected() == 0 {
            return Ok(false);
        }
        query!("erase/revoke_keys.sql", user, now).execute(&mut *transaction).await?;
        // As if its owner had disabled it: operators do not enable it again.
        query!("erase/disable_webhooks.sql", user, now).execute(&mut *transaction).await?;
        let detail = match found {
            [] => "nothing but the user".to_owned(),
            found => {
                found.iter().map(|(table, rows)| format!("{table} {rows}")).collect::<Vec<_>>().join(", ")
            }
        };
        action.record(&mut transaction, "delete_user", None, user.as_str(), now).await?;
        query!("erase/note_begun.sql", user, detail).execute(&mut *transaction).await?;
        transaction.commit().await?;
        Ok(true)
    }

    /// One small transaction of an erasure that was begun. Live jobs come first, so that their runs end at once. `emptied` is how many
    /// tables were found empty by the steps before, none at first: they are not asked again for each batch of the others.
    ///
    /// # Errors
    /// When the database does not answer: the same step is asked for again.
    pub async fn erase_some(&self, user: &UserId, emptied: &mut usize) -> Result<ErasureStep, Error> {
        // Conversations whose job lives, running ones first.
        let live: Vec<String> =
            query_scalar!("erase/live_jobs.sql", user, LIVE).fetch_all(self.db.pool()).await?;
        if !live.is_empty() {
            let mut deleted = 0;
            for conversation in live.into_iter().map(ConversationId::new) {
                deleted += u64::from(self.ledger.delete_conversation(user, &conversation).await?);
            }
            return Ok(ErasureStep::Removed("conversations", deleted));
        }
        for table in TABLES.into_iter().chain(RECORDS).skip(*emptied) {
            let (mut transaction, _) = self.db.begin().await?;
            let removed = erase(&mut transaction, user, table).await?;
            transaction.commit().await?;
            if removed > 0 {
                return Ok(ErasureStep::Removed(table, removed));
            }
            *emptied += 1;
        }
        self.finish_erasure(user).await
    }

    /// Removes what requests that were under way wrote behind the other steps, and the user with it: what is tried later finds
    /// no user to belong to.
    async fn finish_erasure(&self, user: &UserId) -> Result<ErasureStep, Error> {
        let (mut transaction, now) = self.db.begin().await?;
        query!("erase/lock_user.sql", user).execute(&mut *transaction).await?;
        // In the order of locks.
        for table in [JOBS].into_iter().chain(TABLES).chain(RECORDS) {
            let removed = erase(&mut transaction, user, table).await?;
            if i64::try_from(removed).is_ok_and(|removed| removed >= BATCH / 20) {
                transaction.commit().await?;
                return Ok(ErasureStep::Removed(table, removed));
            }
        }
        query!("erase/forget_in_orders.sql", user).execute(&mut *transaction).await?;
        query!("erase/forget_in_replays.sql", user).execute(&mut *transaction).await?;
        query!("erase/delete_user.sql", user).execute(&mut *transaction).await?;
        query!("erase/note_done.sql", user, now).execute(&mut *transaction).await?;
        transaction.commit().await?;
        Ok(ErasureStep::Done)
    }
}

/// Removes a batch of one table's rows, or what is a user's in records that are kept.
async fn erase(connection: &mut PgConnection, user: &UserId, table: &str) -> Result<u64, Error> {
    if table == JOBS {
        return erase_jobs(connection, user).await;
    }
    // An item takes its pushes along.
    lock_subscriptions(connection, user).await?;
    // Photos are large.
    let limit = if table == "photos" { BATCH / 20 } else { BATCH };
    // A bitmap would be made of all rows of the user, each time.
    sqlx::query("set local enable_bitmapscan = off").execute(&mut *connection).await?;
    let doomed = format!("select ctid::text from {table} where user_id = $1 limit $2 for update");
    let doomed: Vec<String> = sqlx::query_scalar(AssertSqlSafe(doomed))
        .bind(user.as_str())
        .bind(limit)
        .fetch_all(&mut *connection)
        .await?;
    if doomed.is_empty() {
        return Ok(0);
    }
    only_keys(connection).await?;
    let change = match RECORDS.contains(&table) {
        true => format!("update {table} set user_id = '' where ctid = any($1::text[]::tid[])"),
        false => format!("delete from {table} where ctid = any($1::text[]::tid[])"),
    };
    Ok(sqlx::query(AssertSqlSafe(change)).bind(doomed).execute(connection).await?.rows_affected())
}

/// Foreign keys look up what belongs to each row that is deleted. Where a user had almost all of a table, few rows are left in it on as
/// many pages, and the planner would read all of them for each row.
async fn only_keys(connection: &mut PgConnection) -> Result<(), sqlx::Error> {
    sqlx::query("set local enable_seqscan = off").execute(connection).await.map(drop)
}

/// Removes jobs with their admissions, tasks, checkpoints and costs; totals follow. Jobs of a user who is created again under the
/// same id may have the same ids: their epochs begin above those that are removed.
async fn erase_jobs(connection: &mut PgConnection, user: &UserId) -> Result<u64, Error> {
    only_keys(connection).await?;
    let doomed: Vec<JobRow> =
        query_as!("erase/lock_jobs.sql", user, BATCH).fetch_all(&mut *connection).await?;
    query!("erase/admissions.sql", user, array(&doomed, |job| job.job_id.as_str()))
        .execute(&mut *connection)
        .await?;
    Ok(remove_jobs(connection, &doomed).await?)
}

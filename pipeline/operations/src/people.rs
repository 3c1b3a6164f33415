//! The list of users, and everything of one user for whom it belongs to.

use db::{Error, query_as, query_scalar};
use futures::TryStreamExt;
use job::Timestamp;
use ledger::OperatorAction;
use records::UserId;
use serde_json::Value;
use sqlx::AssertSqlSafe;

use crate::{Operations, erase::TABLES};

/// A user in a list: no name, and nothing that the user said.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct UserLine {
    pub user_id: String,
    /// An IANA name.
    pub time_zone: String,
    /// Only runs with the user's own keys are allowed.
    pub requires_byok: bool,
    /// Since when the user is being deleted.
    pub deleting_since: Option<Timestamp>,
    pub created_at: Timestamp,
}

/// Rows of one fetch, within the statement timeout: few of what may be megabytes, for a disk may be slow; many of the rest, for a user
/// may have millions, and vacuum waits for the end of an export.
fn batch(table: &str) -> i64 {
    match table {
        "photos" | "apps" | "webhook_deliveries" => 10,
        "conversations" | "transcript_segments" => 100,
        _ => 1_000,
    }
}

/// What is derived from the rest, or only says how it is processed.
const LEFT_OUT: [&str; 4] = ["embeddings", "search_entries", "request_keys", "user_usage"];

impl Operations {
    /// A page of users in the order of their ids, behind `after`.
    pub async fn users(&self, after: Option<&str>, limit: i64) -> Result<Vec<UserLine>, Error> {
        Ok(query_as!("operators/users.sql", after, limit).fetch_all(self.db.pool()).await?)
    }

    /// The ids in the database's own order of texts, in which lists of users are.
    pub async fn in_order(&self, ids: &[String]) -> Result<Vec<String>, Error> {
        Ok(query_scalar!("operators/in_order.sql", ids).fetch_all(self.db.pool()).await?)
    }

    /// Records that an operator exports a user's data. `false`: no such user.
    pub async fn begin_export(&self, user: &UserId, action: &OperatorAction) -> Result<bool, Error> {
        if self.ledger.store().user(user).await?.is_none() {
            return Ok(false);
        }
        let (mut transaction, now) = self.db.begin().await?;
        action.record(&mut transaction, "export_user", Some(user), user.as_str(), now).await?;
        transaction.commit().await?;
        Ok(true)
    }

    /// Hands every row of a user's data to `take`, with the name of its table, as of one moment; keys, secrets and what is derived
    /// from the rest are left out. Returns the first refusal of `take`.
    pub async fn export_user<R>(
        &self,
        user: &UserId,
        mut take: impl FnMut(&'static str, Value) -> Result<(), R>,
    ) -> Result<Result<(), R>, Error> {
        let mut transaction = self.db.begin_reading().await?;
        let tables = ["users"].into_iter().chain(TABLES).filter(|table| !LEFT_OUT.contains(table));
        for table in tables {
            // Through a cursor: each fetch has the statement timeout to itself. What is sent of a conversation (`body`) is made of it.
            let cursor = format!(
                "declare export cursor for select to_jsonb(t) - \
                 '{{key_sha256,secret,previous_secret,mcp_token,p256dh,auth,words,body}}'::text[] from {table} t where user_id = $1"
            );
            sqlx::query(AssertSqlSafe(cursor)).bind(user.as_str()).execute(&mut *transaction).await?;
            let mut is_more = true;
            while is_more {
                is_more = false;
                // One row is held at a time.
                let mut rows = sqlx::query_scalar::<_, Value>(AssertSqlSafe(format!(
                    "fetch {} from export",
                    batch(table)
                )))
                .persistent(false)
                .fetch(&mut *transaction);
                while let Some(row) = rows.try_next().await? {
                    is_more = true;
                    if let Err(refused) = take(table, row) {
                        return Ok(Err(refused));
                    }
                }
            }
            sqlx::query("close export").execute(&mut *transaction).await?;
        }
        Ok(Ok(()))
    }
}

//! Live conversations as operators see them: never words.

use db::Error;
use records::Timestamp;

use crate::Store;

#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct LiveView {
    pub user_id: String,
    pub conversation_id: String,
    /// The process whose socket owns it; `None` between two sockets.
    pub live_process: Option<String>,
    /// Since when that socket owns it.
    pub live_since: Timestamp,
    /// How often it was opened.
    pub live_epoch: i64,
    pub created_at: Timestamp,
    /// When something was last said in it.
    pub last_activity_at: Timestamp,
    /// When it is processed if nothing more is said.
    pub process_after: Timestamp,
    pub segments: i64,
}

impl Store {
    /// Live conversations, those that are processed first at the top, at most `limit`; of one user when one is named.
    pub async fn list_live(&self, user: Option<&str>, limit: i64) -> Result<Vec<LiveView>, Error> {
        Ok(sqlx::query_as(include_str!("../../sql/live/list.sql"))
            .bind(user)
            .bind(limit)
            .fetch_all(self.db.pool())
            .await?)
    }
}

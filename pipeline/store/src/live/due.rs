//! Live conversations whose time is over and whose socket said nothing: the reconciler's page.

use std::time::Duration;

use db::{
    Error,
    cursor::{self, Cursor, KeysetPage},
};
use job::Timestamp;
use records::{ConversationId, UserId};

use crate::Store;

/// A living session ends its conversation itself, and renews it while speech goes on: one that did neither for this
/// long after its time is not living.
pub const LIVE_GRACE: Duration = Duration::from_secs(15);

impl Store {
    /// At most `limit` conversations in progress whose `process_after` is `grace` old, oldest first from `after` on.
    pub async fn due_live(
        &self,
        grace: Duration,
        after: Option<&Cursor>,
        limit: i64,
    ) -> Result<KeysetPage<Vec<(UserId, ConversationId)>>, Error> {
        let (at, user, id) = cursor::bound(after);
        let rows: Vec<(Timestamp, String, String)> = sqlx::query_as(include_str!("../../sql/live/due.sql"))
            .bind(limit)
            .bind(at)
            .bind(user)
            .bind(id)
            .bind(grace.as_secs_f64())
            .fetch_all(self.db.pool())
            .await?;
        Ok(KeysetPage::of(rows, limit, |user, id| (UserId::new(user), ConversationId::new(id))))
    }
}

//! Bounded pages for the lease watch and the reconciler, and the sweep.

use db::{
    Error,
    cursor::{self, Cursor, KeysetPage},
};
use job::{JobId, Timestamp};
use records::{ConversationId, UserId};

use crate::{Ledger, effects::announce_failed};

impl Ledger {
    /// At most `limit` due jobs after `after`, oldest first: those that were parked past their deadline.
    pub async fn due_page(
        &self,
        after: Option<&Cursor>,
        limit: i64,
    ) -> Result<KeysetPage<Vec<(UserId, JobId)>>, Error> {
        self.page(include_str!("../sql/reconcile/due.sql"), after, limit).await
    }

    /// At most `limit` expired leases after `after`, oldest first.
    pub async fn expired_leases(
        &self,
        after: Option<&Cursor>,
        limit: i64,
    ) -> Result<KeysetPage<Vec<(UserId, JobId)>>, Error> {
        self.page(include_str!("../sql/reconcile/expired_leases.sql"), after, limit).await
    }

    async fn page(
        &self,
        statement: &'static str,
        after: Option<&Cursor>,
        limit: i64,
    ) -> Result<KeysetPage<Vec<(UserId, JobId)>>, Error> {
        let (at, _, job) = cursor::bound(after);
        let rows: Vec<(Timestamp, String, String)> =
            sqlx::query_as(statement).bind(at).bind(job).bind(limit).fetch_all(self.db.pool()).await?;
        Ok(KeysetPage::of(rows, limit, |user, job| (UserId::new(user), JobId::from_text(job))))
    }

    /// Looks at `limit` conversations that stood in `processing` for 900 s, oldest first from `after` on, and marks those
    /// failed that have no live job (DECISIONS §4, "a conversation left in `processing`"). Most have one: where much waits
    /// they all stand there so long. Locked rows are skipped.
    pub async fn sweep_processing(
        &self,
        after: Option<&Cursor>,
        limit: i64,
    ) -> Result<KeysetPage<Vec<(UserId, ConversationId)>>, Error> {
        let (mut transaction, now) = self.db.begin().await?;
        let (at, user, id) = cursor::bound(after);
        let looked: Vec<LookedAt> = sqlx::query_as(include_str!("../sql/reconcile/fail_stuck.sql"))
            .bind(now)
            .bind(limit)
            .bind(at)
            .bind(user)
            .bind(id)
            .fetch_all(&mut *transaction)
            .await?;
        let position = |row: &LookedAt| (row.updated_at, row.user_id.clone(), row.conversation_id.clone());
        let last = looked.last().map(position);
        let next = cursor::next_cursor(looked.len(), limit, last);
        let mut found = Vec::new();
        for row in looked {
            let Some(revision) = row.swept else { continue };
            let (user_id, conversation_id) =
                (UserId::new(row.user_id), ConversationId::new(row.conversation_id));
            announce_failed(&mut transaction, (&user_id, &conversation_id, revision), None, now).await?;
            found.push((user_id, conversation_id));
        }
        transaction.commit().await?;
        Ok(KeysetPage { found, next })
    }

    /// At most `limit` deferred conversations after `after` whose last append is 24 h old, oldest first.
    pub async fn abandoned_page(
        &self,
        after: Option<&Cursor>,
        limit: i64,
    ) -> Result<KeysetPage<Vec<(UserId, ConversationId)>>, Error> {
        let (at, user, id) = cursor::bound(after);
        let rows: Vec<(Timestamp, String, String)> =
            sqlx::query_as(include_str!("../sql/reconcile/abandoned.sql"))
                .bind(at)
                .bind(user)
                .bind(id)
                .bind(limit)
                .fetch_all(self.db.pool())
                .await?;
        Ok(KeysetPage::of(rows, limit, |user, id| (UserId::new(user), ConversationId::new(id))))
    }
}

/// A conversation on a sweep's page, with the revision that was swept, if it was.
#[derive(sqlx::FromRow)]
struct LookedAt {
    updated_at: Timestamp,
    user_id: String,
    conversation_id: String,
    swept: Option<i64>,
}

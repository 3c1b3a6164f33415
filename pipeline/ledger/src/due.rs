//! Bounded pages for the lease watch and the reconciler, and the sweep.

use db::{
    Doing, DueRow, Error,
    cursor::{self, Cursor, KeysetPage},
};
use job::{JobId, Timestamp};
use records::{ConversationId, UserId};

use crate::{Ledger, effects::announce_failed};

/// An abandoned conversation: its last append, whose, and which.
pub type Abandoned = (Timestamp, UserId, ConversationId);

/// What a sweep did to one conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Swept {
    /// Whose.
    pub user_id: UserId,
    /// Which.
    pub conversation_id: ConversationId,
}

impl Ledger {
    /// At most `limit` due jobs after `after`, oldest first: those that were parked past their deadline.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn due_page(&self, after: Option<&DueRow>, limit: i64) -> Result<Vec<DueRow>, Error> {
        self.page(include_str!("../sql/reconcile/due.sql"), after, limit).await
    }

    /// At most `limit` expired leases after `after`, oldest first.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn expired_leases(&self, after: Option<&DueRow>, limit: i64) -> Result<Vec<DueRow>, Error> {
        self.page(include_str!("../sql/reconcile/expired_leases.sql"), after, limit).await
    }

    async fn page(
        &self,
        statement: &'static str,
        after: Option<&DueRow>,
        limit: i64,
    ) -> Result<Vec<DueRow>, Error> {
        let rows: Vec<(Timestamp, String, String)> = sqlx::query_as(statement)
            .bind(after.map(|(at, ..)| at))
            .bind(after.map(|(.., job)| job.as_str()))
            .bind(limit)
            .fetch_all(self.db.pool())
            .await
            .doing("reading due jobs")?;
        let passed = |(at, user, job)| (at, UserId::new(user), JobId::from_text(job));
        Ok(rows.into_iter().map(passed).collect())
    }

    /// Looks at `limit` conversations that stood in `processing` for 900 s, oldest first from `after` on, and marks those
    /// failed that have no live job (DECISIONS §4, last row). Most have one: where much waits they all stand there so long.
    /// Locked rows are skipped.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn sweep_processing(
        &self,
        after: Option<&Cursor>,
        limit: i64,
    ) -> Result<KeysetPage<Vec<Swept>>, Error> {
        let (mut transaction, now) = self.db.begin("sweeping conversations").await?;
        let (at, user, id) = cursor::bound(after);
        let looked: Vec<LookedAt> = sqlx::query_as(
            "with looked as materialized (select user_id, conversation_id, updated_at from conversations \
                 where status = 'processing' and updated_at < $1 - interval '900 seconds' \
                     and (updated_at, user_id, conversation_id) \
                         > (coalesce($3::timestamptz, '-infinity'), coalesce($4, ''), coalesce($5, '')) \
                 order by updated_at, user_id, conversation_id limit $2), \
             stuck as (select s.user_id, s.conversation_id from conversations s \
                 join looked l on l.user_id = s.user_id and l.conversation_id = s.conversation_id \
                     and l.updated_at = s.updated_at \
                 where not exists (select from finalization_jobs j where j.user_id = s.user_id \
                         and j.conversation_id = s.conversation_id \
                         and j.status in ('queued', 'leased', 'blocked_byok')) \
                 for no key update of s skip locked), \
             swept as (update conversations c set status = 'failed', updated_at = $1, \
                     discarded_by_failure = c.discarded_by_failure or not c.discarded, discarded = true \
                 from stuck where c.user_id = stuck.user_id and c.conversation_id = stuck.conversation_id \
                 returning c.user_id, c.conversation_id, c.finalization_revision) \
             select updated_at, user_id, conversation_id, finalization_revision as swept \
             from looked left join swept using (user_id, conversation_id) \
             order by updated_at, user_id, conversation_id",
        )
        .bind(now)
        .bind(limit)
        .bind(at)
        .bind(user)
        .bind(id)
        .fetch_all(&mut *transaction)
        .await
        .doing("sweeping conversations")?;
        let last = looked.last().map(LookedAt::position);
        let next = cursor::next_cursor(looked.len(), limit, last);
        let mut found = Vec::new();
        for row in looked {
            let Some(revision) = row.swept else { continue };
            let (user_id, conversation_id) =
                (UserId::new(row.user_id), ConversationId::new(row.conversation_id));
            announce_failed(&mut transaction, (&user_id, &conversation_id, revision), None, now).await?;
            found.push(Swept { user_id, conversation_id });
        }
        transaction.commit().await.doing("sweeping conversations")?;
        Ok(KeysetPage { found, next })
    }

    /// At most `limit` deferred conversations after `after` whose last append is 24 h old, oldest first.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn abandoned_page(
        &self,
        after: Option<&Abandoned>,
        limit: i64,
    ) -> Result<Vec<Abandoned>, Error> {
        let rows: Vec<(Timestamp, String, String)> =
            sqlx::query_as(include_str!("../sql/reconcile/abandoned.sql"))
                .bind(after.map(|(at, ..)| at))
                .bind(after.map(|(_, user, _)| user.as_str()))
                .bind(after.map(|(.., conversation)| conversation.as_str()))
                .bind(limit)
                .fetch_all(self.db.pool())
                .await
                .doing("reading abandoned conversations")?;
        let abandoned = |(at, user, id)| (at, UserId::new(user), ConversationId::new(id));
        Ok(rows.into_iter().map(abandoned).collect())
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

impl LookedAt {
    fn position(&self) -> (Timestamp, String, String) {
        (self.updated_at, self.user_id.clone(), self.conversation_id.clone())
    }
}

//! Bounded pages for the lease watch and the reconciler, and the sweep.

use job::{JobId, Timestamp};
use records::{ConversationId, UserId};

use crate::{
    Ledger,
    effects::tell_failed,
    error::{Doing, Error},
    walk::{self, Place, Walked},
};

/// A page of due jobs: keyset by (reconcile_after_at, job id).
pub type Passed = (Timestamp, UserId, JobId);

/// What a sweep did to one conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Swept {
    /// Whose.
    pub user_id: UserId,
    /// Which.
    pub conversation_id: ConversationId,
}

impl Ledger {
    /// At most `limit` jobs whose `reconcile_after_at` has passed, after `after`, oldest first; locked rows are skipped.
    /// Expired leases are not among them: the lease watch alone ends them, for it alone lets living holders renew first
    /// after the database was away.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn due_page(
        &self,
        after: Option<(Timestamp, JobId)>,
        limit: i64,
    ) -> Result<Vec<Passed>, Error> {
        let (at, id) = after.unzip();
        let rows: Vec<(Timestamp, String, String)> = sqlx::query_as(
            "select reconcile_after_at, user_id, job_id from finalization_jobs \
             where reconcile_after_at <= statement_timestamp() and status <> 'leased' \
                 and (reconcile_after_at, job_id) > (coalesce($1::timestamptz, '-infinity'), coalesce($2, '')) \
             order by reconcile_after_at, job_id limit $3 for no key update skip locked",
        )
        .bind(at)
        .bind(id.as_ref().map(JobId::as_str))
        .bind(limit)
        .fetch_all(&self.pool)
        .await
        .doing("reading due jobs")?;
        Ok(rows.into_iter().map(passed).collect())
    }

    /// At most `limit` expired leases, oldest first; locked rows are skipped.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn expired_leases(&self, limit: i64) -> Result<Vec<Passed>, Error> {
        self.due_in(
            "select reconcile_after_at, user_id, job_id from finalization_jobs \
             where status = 'leased' and reconcile_after_at <= statement_timestamp() \
             order by reconcile_after_at, job_id limit $1 for no key update skip locked",
            limit,
        )
        .await
    }

    /// At most `limit` jobs that were parked for their user's keys longer than anybody waits, oldest first; locked
    /// rows are skipped.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn parked_too_long(&self, limit: i64) -> Result<Vec<Passed>, Error> {
        self.due_in(
            "select reconcile_after_at, user_id, job_id from finalization_jobs \
             where status = 'blocked_byok' and reconcile_after_at <= statement_timestamp() \
             order by reconcile_after_at, job_id limit $1 for no key update skip locked",
            limit,
        )
        .await
    }

    async fn due_in(&self, page: &'static str, limit: i64) -> Result<Vec<Passed>, Error> {
        let rows: Vec<(Timestamp, String, String)> =
            sqlx::query_as(page).bind(limit).fetch_all(&self.pool).await.doing("reading due jobs")?;
        Ok(rows.into_iter().map(passed).collect())
    }

    /// Looks at `limit` conversations that stood in `processing` for 900 s, oldest first from `after` on, and marks those
    /// failed that have no live job (DECISIONS §4, last row). Most have one: where much waits they all stand there so long.
    /// What somebody holds is passed by.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn sweep_processing(
        &self,
        after: Option<&Place>,
        limit: i64,
    ) -> Result<Walked<Vec<Swept>>, Error> {
        let (mut transaction, now) = self.begin("sweeping conversations").await?;
        let (at, user, id) = walk::bound(after);
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
        let last = looked.last().map(LookedAt::place);
        let next = walk::behind(looked.len(), limit, last);
        let mut found = Vec::new();
        for row in looked {
            let Some(revision) = row.swept else { continue };
            let (user_id, conversation_id) =
                (UserId::new(row.user_id), ConversationId::new(row.conversation_id));
            tell_failed(&mut transaction, (&user_id, &conversation_id, revision), None, now).await?;
            found.push(Swept { user_id, conversation_id });
        }
        transaction.commit().await.doing("sweeping conversations")?;
        Ok(Walked { found, next })
    }

    /// Deferred conversations whose last append is 24 h old, at most `limit`.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn abandoned_page(&self, limit: i64) -> Result<Vec<(UserId, ConversationId)>, Error> {
        let rows: Vec<(String, String)> = sqlx::query_as(
            "select user_id, conversation_id from conversations where status = 'in_progress' \
                 and last_append_at < statement_timestamp() - interval '24 hours' order by last_append_at limit $1",
        )
        .bind(limit)
        .fetch_all(&self.pool)
        .await
        .doing("reading abandoned conversations")?;
        Ok(rows.into_iter().map(|(user, id)| (UserId::new(user), ConversationId::new(id))).collect())
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
    fn place(&self) -> (Timestamp, String, String) {
        (self.updated_at, self.user_id.clone(), self.conversation_id.clone())
    }
}

fn passed((at, user, job): (Timestamp, String, String)) -> Passed {
    (at, UserId::new(user), JobId::from_text(job))
}

//! Finalizing a persisted conversation: by its owner, or by the reconciler when it was abandoned.

use job::{JobId, Origin};
use records::{Conversation, ConversationId, Status, Timestamp, UserId};
use sqlx::PgConnection;

use super::{AdmitRefusal, Admitting, requires_keys};
use crate::{
    Ledger,
    conversations::row::read_conversation,
    effects::{Bell, Stumble, until_stored},
    error::{Doing, Error},
};

/// A conversation after its finalize, with the job of its newest revision, if it ever had one.
type Finalized = Result<(Conversation, Option<JobId>), AdmitRefusal>;

impl Ledger {
    /// Admits a persisted conversation (origin `finalize`, queue `finalization`, force_process true). Already
    /// processing or completed: unchanged, with its newest job if it has one. One live job per conversation.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn finalize(
        &self,
        user: &UserId,
        conversation: &ConversationId,
        calendar_meeting_context: Option<serde_json::Value>,
    ) -> Result<Finalized, Error> {
        let context = calendar_meeting_context.as_ref();
        until_stored!(self, "finalizing a conversation", |bell| self.try_finalize(
            user,
            conversation,
            context,
            Asker::Owner,
            bell
        ))
    }

    /// Admits one abandoned conversation (origin `finalize`, force_process false), locked and re-checked.
    /// `true` when it was admitted.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn admit_abandoned(&self, user: &UserId, conversation: &ConversationId) -> Result<bool, Error> {
        let finalized = until_stored!(self, "admitting an abandoned conversation", |bell| self
            .try_finalize(user, conversation, None, Asker::Reconciler, bell))?;
        Ok(matches!(finalized, Ok((_, Some(_)))))
    }

    async fn try_finalize(
        &self,
        user: &UserId,
        conversation: &ConversationId,
        context: Option<&serde_json::Value>,
        asker: Asker,
        bell: Bell,
    ) -> Result<Finalized, Stumble> {
        let (mut transaction, now) = self.begin("finalizing a conversation").await?;
        let requires_keys = requires_keys(&mut transaction, user).await?;
        let Some(standing) = lock_standing(&mut transaction, user, conversation).await? else {
            return Ok(Err(AdmitRefusal::NoConversation));
        };
        if !asker.may_admit(&standing) {
            let unchanged =
                read_conversation(&mut transaction, user, conversation).await?.ok_or(Stumble::Lost)?;
            let job = match asker {
                Asker::Owner => newest_job(&mut transaction, user, conversation).await?,
                Asker::Reconciler => None, // Admitted by somebody else: not by this call.
            };
            return Ok(Ok((unchanged, job)));
        }
        if !standing.has_content {
            return Ok(Err(AdmitRefusal::NoContent));
        }
        let revision = open_revision(&mut transaction, user, conversation, context, now).await?;
        let admitting = Admitting {
            user,
            conversation,
            revision,
            origin: Origin::Finalize,
            force_process: asker == Asker::Owner,
            requires_keys,
        };
        let (job, effects) = self.admit(&mut transaction, admitting, now, bell).await?;
        let admitted = read_conversation(&mut transaction, user, conversation).await?.ok_or(Stumble::Lost)?;
        transaction.commit().await.doing("finalizing a conversation")?;
        self.wake(&job, &effects, 0);
        Ok(Ok((admitted, Some(job.id))))
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Asker {
    Owner,
    Reconciler,
}

impl Asker {
    fn may_admit(self, standing: &Standing) -> bool {
        let is = |status: Status| standing.status == status.as_str();
        match self {
            Self::Owner => is(Status::InProgress) || is(Status::Failed),
            Self::Reconciler => is(Status::InProgress) && standing.is_abandoned,
        }
    }
}

/// What admission must know of a conversation.
#[derive(sqlx::FromRow)]
pub(super) struct Standing {
    pub(super) status: String,
    /// Its last words are a day old.
    is_abandoned: bool,
    pub(super) has_content: bool,
}

/// Reads and locks the row, so that a segment is in the revision or is refused.
pub(super) async fn lock_standing(
    connection: &mut PgConnection,
    user: &UserId,
    conversation: &ConversationId,
) -> Result<Option<Standing>, Error> {
    sqlx::query_as(
        "select status, \
             coalesce(last_append_at < clock_timestamp() - interval '24 hours', false) as is_abandoned, \
             private_text is not null \
             or exists (select from transcript_segments s where s.user_id = c.user_id \
                 and s.conversation_id = c.conversation_id) \
             or exists (select from photos p where p.user_id = c.user_id and p.conversation_id = c.conversation_id) \
             as has_content \
         from conversations c where user_id = $1 and conversation_id = $2 for no key update of c",
    )
    .bind(user.as_str())
    .bind(conversation.as_str())
    .fetch_optional(connection)
    .await
    .doing("locking a conversation")
}

/// Takes the next revision; the discarded mark of a dead letter is taken back.
async fn open_revision(
    connection: &mut PgConnection,
    user: &UserId,
    conversation: &ConversationId,
    context: Option<&serde_json::Value>,
    now: Timestamp,
) -> Result<i64, Error> {
    sqlx::query_scalar(
        "update conversations set status = 'processing', finalization_revision = finalization_revision + 1, \
             discarded = discarded and not discarded_by_failure, discarded_by_failure = false, updated_at = $3, \
             external_data = case when $4::jsonb is null then external_data \
                 else coalesce(external_data, '{}') || jsonb_build_object('calendar_meeting_context', $4::jsonb) end \
         where user_id = $1 and conversation_id = $2 returning finalization_revision",
    )
    .bind(user.as_str())
    .bind(conversation.as_str())
    .bind(now)
    .bind(context)
    .fetch_one(connection)
    .await
    .doing("opening a revision")
}

async fn newest_job(
    connection: &mut PgConnection,
    user: &UserId,
    conversation: &ConversationId,
) -> Result<Option<JobId>, Error> {
    let id: Option<String> = sqlx::query_scalar(
        "select job_id from finalization_admissions where user_id = $1 and conversation_id = $2 \
         order by revision desc limit 1",
    )
    .bind(user.as_str())
    .bind(conversation.as_str())
    .fetch_optional(connection)
    .await
    .doing("looking for the newest job")?;
    Ok(id.map(JobId::from_text))
}

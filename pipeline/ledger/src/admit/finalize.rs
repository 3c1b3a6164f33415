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
    keyed::{Keying, WithKeys},
    take::Claimed,
};

/// A conversation after its finalize, with the job of its newest revision, if it ever had one.
type Finalized = Result<(Conversation, Option<JobId>), AdmitRefusal>;
/// The same, with the lease that was taken at once.
type FinalizedWithKeys = Result<(Conversation, Option<JobId>, Option<Claimed>), AdmitRefusal>;

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
        let finalized = self.finalize_asked(user, conversation, context, None).await?;
        Ok(finalized.map(|(conversation, job, _)| (conversation, job)))
    }

    /// Admits as [`finalize`](Self::finalize) does, for a request that brought its user's own keys. A fresh job is
    /// leased in the same transaction when a claimant is named; an older one is answered as it stands, and whoever
    /// holds the keys claims it by itself.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn finalize_with_keys(
        &self,
        user: &UserId,
        conversation: &ConversationId,
        calendar_meeting_context: Option<serde_json::Value>,
        keys: WithKeys<'_>,
    ) -> Result<FinalizedWithKeys, Error> {
        self.finalize_asked(user, conversation, calendar_meeting_context.as_ref(), Some(keys)).await
    }

    async fn finalize_asked(
        &self,
        user: &UserId,
        conversation: &ConversationId,
        context: Option<&serde_json::Value>,
        keys: Option<WithKeys<'_>>,
    ) -> Result<FinalizedWithKeys, Error> {
        let asker = Asker::Owner { keys };
        until_stored!(self, "finalizing a conversation", |bell| self.try_finalize(
            user,
            conversation,
            context,
            asker,
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
        Ok(matches!(finalized, Ok((_, Some(_), _))))
    }

    async fn try_finalize(
        &self,
        user: &UserId,
        conversation: &ConversationId,
        context: Option<&serde_json::Value>,
        asker: Asker<'_>,
        bell: Bell,
    ) -> Result<FinalizedWithKeys, Stumble> {
        let (mut transaction, now) = self.begin("finalizing a conversation").await?;
        let keying = Keying::of(requires_keys(&mut transaction, user).await?, asker.keys());
        let Some(ready) = lock(&mut transaction, user, conversation, asker).await? else {
            return Ok(Err(AdmitRefusal::NoConversation));
        };
        if !ready.admissible {
            let unchanged =
                read_conversation(&mut transaction, user, conversation).await?.ok_or(Stumble::Lost)?;
            let job = match asker {
                Asker::Owner { .. } => newest_job(&mut transaction, user, conversation).await?,
                Asker::Reconciler => None, // Admitted by somebody else: not by this call.
            };
            return Ok(Ok((unchanged, job, None)));
        }
        if !ready.has_content {
            return Ok(Err(AdmitRefusal::NoContent));
        }
        let revision = open_revision(&mut transaction, user, conversation, context, now).await?;
        let admitting = Admitting {
            user,
            conversation,
            revision,
            origin: Origin::Finalize,
            force_process: matches!(asker, Asker::Owner { .. }),
            requires_keys: keying.required,
        };
        let (job, effects) = self.admit(&mut transaction, admitting, now, bell).await?;
        let claimed = self.claim_at_once(&mut transaction, &job, keying, now).await?;
        let admitted = read_conversation(&mut transaction, user, conversation).await?.ok_or(Stumble::Lost)?;
        transaction.commit().await.doing("finalizing a conversation")?;
        self.wake(&job, &effects, 0);
        Ok(Ok((admitted, Some(job.id), claimed)))
    }
}

#[derive(Clone, Copy)]
enum Asker<'a> {
    Owner { keys: Option<WithKeys<'a>> },
    Reconciler,
}

impl<'a> Asker<'a> {
    fn keys(self) -> Option<WithKeys<'a>> {
        match self {
            Self::Owner { keys } => keys,
            Self::Reconciler => None,
        }
    }
}

/// What admission must know of a conversation; its row is locked, so that a segment is in the revision or is refused.
struct Ready {
    admissible: bool,
    has_content: bool,
}

async fn lock(
    connection: &mut PgConnection,
    user: &UserId,
    conversation: &ConversationId,
    asker: Asker<'_>,
) -> Result<Option<Ready>, Error> {
    let row: Option<(String, bool, bool)> = sqlx::query_as(
        "select status, coalesce(last_append_at < clock_timestamp() - interval '24 hours', false), \
             private_text is not null \
             or exists (select from transcript_segments s where s.user_id = c.user_id \
                 and s.conversation_id = c.conversation_id) \
             or exists (select from photos p where p.user_id = c.user_id and p.conversation_id = c.conversation_id) \
         from conversations c where user_id = $1 and conversation_id = $2 for no key update of c",
    )
    .bind(user.as_str())
    .bind(conversation.as_str())
    .fetch_optional(connection)
    .await
    .doing("locking a conversation")?;
    Ok(row.map(|(status, abandoned, has_content)| Ready {
        admissible: match asker {
            Asker::Owner { .. } => status == Status::InProgress.as_str() || status == Status::Failed.as_str(),
            Asker::Reconciler => status == Status::InProgress.as_str() && abandoned,
        },
        has_content,
    }))
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

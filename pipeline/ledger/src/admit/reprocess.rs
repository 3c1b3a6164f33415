//! Processing a finished conversation again (DECISIONS §4, "the original's own routes").

use job::{JobId, Origin, State};
use records::{ConversationId, Status, Timestamp, UserId};
use sqlx::PgConnection;
use trace::TraceContext;
use tracing::Instrument;

use super::{Admitted, Admitting, admission, owner};
use crate::{
    Ledger,
    budgets::Charge,
    conversations::row::read_conversation,
    edges::live_job,
    effects::{Bell, Stumble, until_stored},
    error::{Doing, Error},
    keyed::{Keying, WithKeys},
};

const DOING: &str = "reprocessing a conversation";

/// Why a conversation is not processed again. Nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReprocessRefusal {
    /// Unknown, deleted or another user's.
    NoConversation,
    /// Words are still being added: it has to be finalized first.
    NotFinished,
    /// Its user requires keys of their own, and the request brought none.
    KeysRequired,
    /// No segments, text or photos.
    NoContent,
}

impl Ledger {
    /// Admits the next revision of a completed or failed conversation (origin `reprocess`, queue `creation`,
    /// force_process true). A completed one stays completed and listed, with its old results, until the new revision
    /// replaces them; a failed one is processing. One live job per conversation: while one lives, this is a repeat
    /// and answers that one, not `fresh`. `keys` are those of a request that brought its user's own: the job then
    /// requires them, and is leased in the same transaction when a claimant is named.
    ///
    /// # Errors
    /// When the database does not answer, or too many of the user's jobs wait.
    pub async fn reprocess(
        &self,
        user: &UserId,
        conversation: &ConversationId,
        keys: Option<WithKeys<'_>>,
    ) -> Result<Result<Admitted, ReprocessRefusal>, Error> {
        async {
            until_stored!(self, "reprocessing a conversation", |bell| self.try_reprocess(
                user,
                conversation,
                keys,
                bell
            ))
        }
        .instrument(admission())
        .await
    }

    async fn try_reprocess(
        &self,
        user: &UserId,
        id: &ConversationId,
        keys: Option<WithKeys<'_>>,
        bell: Bell,
    ) -> Result<Result<Admitted, ReprocessRefusal>, Stumble> {
        let (mut transaction, now) = self.begin(DOING).await?;
        let Some(owner) = owner(&mut transaction, user).await? else {
            return Ok(Err(ReprocessRefusal::NoConversation));
        };
        let keying = Keying::of(owner.requires_byok, keys);
        let Some(standing) = lock(&mut transaction, user, id).await? else {
            return Ok(Err(ReprocessRefusal::NoConversation));
        };
        // Whoever admits or replays a job of this conversation holds its row, too: this is the last word.
        if let Some(live) = live_job(&mut transaction, user, id).await? {
            if live.job.state == State::BlockedByok && keys.is_none() {
                return Ok(Err(ReprocessRefusal::KeysRequired));
            }
            let conversation = read_conversation(&mut transaction, user, id).await?.ok_or(Stumble::Lost)?;
            return Ok(Ok(Admitted { conversation, job_id: live.job.id, fresh: false, claimed: None }));
        }
        if standing.status != Status::Completed.as_str() && standing.status != Status::Failed.as_str() {
            return Ok(Err(ReprocessRefusal::NotFinished));
        }
        if keying.required && keys.is_none() {
            return Ok(Err(ReprocessRefusal::KeysRequired));
        }
        if !standing.has_content {
            return Ok(Err(ReprocessRefusal::NoContent));
        }
        let revision = open_revision(&mut transaction, user, id, now).await?;
        let admitting = Admitting {
            user,
            conversation: id,
            revision,
            origin: Origin::Reprocess,
            force_process: true,
            requires_keys: keying.required,
            first_epoch: owner.first_epoch,
            trace: TraceContext::current(),
        };
        let steps = self.admit(&mut transaction, &[admitting], now, bell).await?;
        let job_id = JobId::derive(user.as_str(), id.as_str(), revision);
        let claimed = self.claim_at_once(&mut transaction, &job_id, keying, now).await?.map(Box::new);
        let conversation = read_conversation(&mut transaction, user, id).await?.ok_or(Stumble::Lost)?;
        self.charge(&mut transaction, user, Charge { job: true, ..Charge::default() }, now).await?;
        transaction.commit().await.doing(DOING)?;
        self.wake_all(&steps);
        Ok(Ok(Admitted { conversation, job_id, fresh: true, claimed }))
    }
}

/// What must be known of a conversation before it is processed again.
#[derive(sqlx::FromRow)]
struct Standing {
    status: String,
    has_content: bool,
}

/// Reads and locks the row, so that no other admission and no replay comes in between.
async fn lock(
    connection: &mut PgConnection,
    user: &UserId,
    conversation: &ConversationId,
) -> Result<Option<Standing>, Error> {
    sqlx::query_as(concat!(
        "select status, ",
        has_content!(),
        " as has_content from conversations c \
         where user_id = $1 and conversation_id = $2 for no key update of c"
    ))
    .bind(user.as_str())
    .bind(conversation.as_str())
    .fetch_optional(connection)
    .await
    .doing(DOING)
}

/// Takes the next revision. Of a completed conversation nothing else changes; a failed one is opened as finalize
/// opens it, the discarded mark of its dead letter taken back.
async fn open_revision(
    connection: &mut PgConnection,
    user: &UserId,
    conversation: &ConversationId,
    now: Timestamp,
) -> Result<i64, Error> {
    sqlx::query_scalar(
        "update conversations set finalization_revision = finalization_revision + 1, \
             status = case when status = 'failed' then 'processing' else status end, \
             discarded = discarded and not (status = 'failed' and discarded_by_failure), \
             discarded_by_failure = discarded_by_failure and status <> 'failed', \
             updated_at = case when status = 'failed' then $3 else updated_at end \
         where user_id = $1 and conversation_id = $2 returning finalization_revision",
    )
    .bind(user.as_str())
    .bind(conversation.as_str())
    .bind(now)
    .fetch_one(connection)
    .await
    .doing(DOING)
}

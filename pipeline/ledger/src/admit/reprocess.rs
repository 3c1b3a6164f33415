//! Processing a finished conversation again (DECISIONS §4, "the original's own routes").

use std::slice;

use db::Error;
use job::{Origin, State};
use records::{ConversationId, Status, UserId};
use store::budgets::Charge;
use tracing::Instrument;

use super::{Admitted, WithKeys, admit_span, lock_standing, must_read, open_revisions, owner};
use crate::{Ledger, retry_conflicts, row::live_job};

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
        id: &ConversationId,
        keys: Option<WithKeys<'_>>,
    ) -> Result<Result<Admitted, ReprocessRefusal>, Error> {
        let reprocessed = retry_conflicts!("reprocessing a conversation", async {
            let (mut transaction, now) = self.db.begin_creating(&[id.as_str()]).await?;
            let Some(owner) = owner(&mut transaction, user).await? else {
                return Ok(Err(ReprocessRefusal::NoConversation));
            };
            let Some(standing) = lock_standing(&mut transaction, user, id).await? else {
                return Ok(Err(ReprocessRefusal::NoConversation));
            };
            // Every admission and replay of this conversation locks its row, too, so this decides.
            if let Some(live) = live_job(&mut transaction, user, id).await? {
                if live.job.state == State::BlockedByok && keys.is_none() {
                    return Ok(Err(ReprocessRefusal::KeysRequired));
                }
                let conversation = must_read(&mut transaction, user, id).await?;
                if self.db.has_request_key() {
                    transaction.commit().await?;
                }
                return Ok(Ok(Admitted { conversation, job_id: live.job.id, fresh: false, claimed: None }));
            }
            if standing.status != Status::Completed.as_str() && standing.status != Status::Failed.as_str() {
                return Ok(Err(ReprocessRefusal::NotFinished));
            }
            if owner.requires_byok && keys.is_none() {
                return Ok(Err(ReprocessRefusal::KeysRequired));
            }
            if !standing.has_content {
                return Ok(Err(ReprocessRefusal::NoContent));
            }
            let newest = standing.finalization_revision;
            let mut job = self.next_job(newest, (user, id), Origin::Reprocess, &owner, keys, now);
            job.job.force_process = true;
            open_revisions(&mut transaction, slice::from_ref(&job), &[None], now).await?;
            let charge = Charge { job: true, ..Charge::default() };
            self.admit_and_commit(transaction, &job, keys, Some(charge), now).await.map(Ok)
        });
        reprocessed.instrument(admit_span()).await
    }
}

//! The end of a live conversation: by silence, on request, by its limits, or by the reconciler. One operation.

use std::{slice, time::Duration};

use db::{Error, query};
use job::Origin;
use records::{ConversationId, Status, Timestamp, UserId};
use serde_json::Value;
use tracing::Instrument;

use super::{Admitted, Standing, WithKeys, admit_span, lock_standing, of_meeting, open_revisions, owner};
use crate::{Ledger, retry_conflicts};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndedBy<'a> {
    /// The socket that was given this epoch.
    Socket {
        /// See [`LiveConversation`](store::LiveConversation).
        epoch: i64,
    },
    /// Its owner, by a request.
    Owner {
        /// What the request says of the meeting (DECISIONS §4, "body of finalize").
        calendar_meeting_context: Option<&'a Value>,
    },
    /// The reconciler: only one that has been due for so long.
    Reconciler {
        /// See [`LIVE_GRACE`](store::LIVE_GRACE).
        grace: Duration,
    },
}

/// What came of it.
#[derive(Clone, Debug, PartialEq)]
pub enum LiveAdmission {
    /// Its job was admitted (origin `live`, force_process false).
    Admitted(Box<Admitted>),
    /// It was admitted before, or deleted.
    Ended,
    /// Another socket opened it since.
    Superseded,
    /// Nothing was said in it. The reconciler's call deleted it.
    Empty,
    /// The reconciler alone: it is not due any more.
    NotDue,
}

impl Ledger {
    /// Admits a live conversation into the queue `finalization`, or `creation` in `inline` mode. `keys` are those of a
    /// session or request that brought its user's own: the job then requires them, and is leased in the same transaction
    /// when a claimant is named. Of two at once, one admits and the other finds it ended.
    pub async fn admit_live(
        &self,
        user: &UserId,
        id: &ConversationId,
        by: EndedBy<'_>,
        keys: Option<WithKeys<'_>>,
    ) -> Result<LiveAdmission, Error> {
        let admitted = retry_conflicts!("ending a live conversation", async {
            let (mut transaction, now) = self.db.begin_creating(&[id.as_str()]).await?;
            let Some(owner) = owner(&mut transaction, user).await? else { return Ok(LiveAdmission::Ended) };
            let Some(standing) = lock_standing(&mut transaction, user, id).await? else {
                return Ok(LiveAdmission::Ended);
            };
            if let Some(refused) = standing.refuses(by, now) {
                // A repeat must not end the next conversation instead: the key of this request is kept.
                if self.db.has_request_key() {
                    transaction.commit().await?;
                }
                return Ok(refused);
            }
            if !standing.has_content {
                if matches!(by, EndedBy::Reconciler { .. }) {
                    query!("conversations/delete.sql", user, id).execute(&mut *transaction).await?;
                    transaction.commit().await?;
                }
                return Ok(LiveAdmission::Empty);
            }
            let context = match by {
                EndedBy::Owner { calendar_meeting_context } => calendar_meeting_context,
                EndedBy::Socket { .. } | EndedBy::Reconciler { .. } => None,
            };
            let newest = standing.finalization_revision;
            let job = self.next_job(newest, (user, id), Origin::Live, &owner, keys, now);
            open_revisions(&mut transaction, slice::from_ref(&job), &[of_meeting(context)], now).await?;
            let admitted = self.admit_and_commit(transaction, &job, keys, None, now).await?;
            Ok(LiveAdmission::Admitted(Box::new(admitted)))
        });
        self.db.in_time(admitted.instrument(admit_span())).await
    }
}

impl Standing {
    fn refuses(&self, by: EndedBy<'_>, now: Timestamp) -> Option<LiveAdmission> {
        if self.status != Status::InProgress.as_str() {
            return Some(LiveAdmission::Ended);
        }
        match by {
            EndedBy::Socket { epoch } if self.live_epoch != Some(epoch) => Some(LiveAdmission::Superseded),
            EndedBy::Reconciler { grace } if self.process_after.is_none_or(|due| due + grace > now) => {
                Some(LiveAdmission::NotDue)
            }
            EndedBy::Socket { .. } | EndedBy::Owner { .. } | EndedBy::Reconciler { .. } => None,
        }
    }
}

//! Live conversations: one socket owns each, and nothing depends on that socket (`docs/live.md`).
//!
//! Every open raises the row's `live_epoch`; whatever a socket does to its conversation names the epoch it was given, and
//! is refused when a newer one exists, words apart that were heard before. `process_after` says when the conversation is
//! to be processed though its socket says nothing more: the reconciler goes by it.

mod append;
mod open;
mod photos;

use std::time::Duration;

use db::{
    Error,
    cursor::{self, Cursor, KeysetPage},
    query, query_as, query_scalar,
};
use job::JobId;
use records::{ConversationId, Timestamp, UserId};
use sqlx::PgConnection;

pub use append::{Appended, SegmentIds};
pub use open::{LiveConversation, NewLive};
pub use photos::{Photo, PhotoRefusal};

use crate::{
    Store,
    segments::{Locked, lock},
};

/// A living session ends its conversation itself, and renews it while speech goes on: one that did neither for this
/// long after its time is not living.
pub const LIVE_GRACE: Duration = Duration::from_secs(15);

/// Why a socket's operation on its conversation was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LiveLost {
    /// The conversation is being processed, or was deleted.
    Ended,
    /// Another socket opened it since.
    Superseded,
}

/// Who a speaker is, as the client said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssignedSpeaker {
    /// The speaker's number in the conversation.
    pub speaker_id: i32,
    /// One of the user's people; `None`: the user.
    pub person_id: Option<String>,
    /// Segments that were said by that speaker, whatever their numbers.
    pub segment_ids: Vec<String>,
}

/// What one socket, or all of an engine's, took for a conversation.
#[derive(Clone, Debug, Default, PartialEq, sqlx::FromRow)]
pub struct LiveUsage {
    /// The speech engine; `client` where the client recognized speech itself.
    pub engine: String,
    /// The user's own key was used.
    pub own_key: bool,
    /// Seconds of audio that came.
    pub received_seconds: f64,
    /// Seconds of audio that the engine was sent and billed.
    pub recognized_seconds: f64,
    /// Utterances that were recognized.
    pub utterances: i64,
    /// Seconds of speech that were given up.
    pub gap_seconds: f64,
    /// What that cost the service, where a price is set.
    pub cost: Option<f64>,
}

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
    /// Notes who said the segments of a speaker. `false`: the user knows no such person; nothing was changed.
    pub async fn assign_live_speaker(
        &self,
        user: &UserId,
        conversation: &ConversationId,
        epoch: i64,
        assigned: &AssignedSpeaker,
    ) -> Result<Result<bool, LiveLost>, Error> {
        self.db
            .in_time(async {
                let (mut transaction, now) = self.db.begin().await?;
                if let Err(lost) = hold(&mut transaction, user, conversation, epoch).await? {
                    return Ok(Err(lost));
                }
                let is_known: bool =
                    query_scalar!("people/is_known.sql", user, assigned.person_id.as_deref())
                        .fetch_one(&mut *transaction)
                        .await?;
                if !is_known {
                    return Ok(Ok(false));
                }
                query!(
                    "live/name_speaker.sql",
                    user,
                    conversation,
                    assigned.person_id.as_deref(),
                    assigned.speaker_id,
                    &assigned.segment_ids
                )
                .execute(&mut *transaction)
                .await?;
                // An admission that has read the segments before reads them again.
                query!("live/speaker_named.sql", user, conversation, now).execute(&mut *transaction).await?;
                transaction.commit().await?;
                Ok(Ok(true))
            })
            .await
    }

    /// Notes what the socket of `epoch` has taken for a conversation so far. A repeat changes nothing.
    pub async fn note_live_usage(
        &self,
        user: &UserId,
        conversation: &ConversationId,
        epoch: i64,
        usage: &LiveUsage,
    ) -> Result<(), Error> {
        query!(
            "live_usage/note.sql",
            user,
            conversation,
            epoch,
            &usage.engine,
            usage.own_key,
            usage.received_seconds,
            usage.recognized_seconds,
            usage.utterances,
            usage.gap_seconds,
            usage.cost
        )
        .execute(self.db.pool())
        .await?;
        Ok(())
    }

    /// Deletes the conversation of a socket that was closed, if it has no content; else no process holds it any more.
    pub async fn close_live(
        &self,
        user: &UserId,
        conversation: &ConversationId,
        epoch: i64,
    ) -> Result<Result<(), LiveLost>, Error> {
        self.db
            .in_time(async {
                let (mut transaction, _) = self.db.begin().await?;
                if let Err(lost) = hold(&mut transaction, user, conversation, epoch).await? {
                    return Ok(Err(lost));
                }
                let delete = query!("live/delete_empty.sql", user, conversation);
                if delete.execute(&mut *transaction).await?.rows_affected() == 0 {
                    query!("live/leave.sql", user, conversation).execute(&mut *transaction).await?;
                }
                transaction.commit().await?;
                Ok(Ok(()))
            })
            .await
    }

    /// At most `limit` conversations in progress whose `process_after` is `grace` old, oldest first from `after` on.
    pub async fn due_live(
        &self,
        grace: Duration,
        after: Option<&Cursor>,
        limit: i64,
    ) -> Result<KeysetPage<(UserId, ConversationId)>, Error> {
        let (at, user, id) = cursor::bound(after);
        let rows = query_as!("live/due.sql", limit, at, user, id, grace.as_secs_f64())
            .fetch_all(self.db.pool())
            .await?;
        Ok(KeysetPage::of(rows, limit, ConversationId::new))
    }

    /// The user's jobs that are parked until the user brings keys, oldest first, at most `limit`.
    pub async fn parked_jobs(&self, user: &UserId, limit: i64) -> Result<Vec<JobId>, Error> {
        let jobs: Vec<String> =
            query_scalar!("live/parked_jobs.sql", user, limit).fetch_all(self.db.pool()).await?;
        Ok(jobs.into_iter().map(JobId::from_text).collect())
    }

    /// Live conversations, those that are processed first at the top, at most `limit`; of one user when one is named.
    pub async fn list_live(&self, user: Option<&str>, limit: i64) -> Result<Vec<LiveView>, Error> {
        Ok(query_as!("live/list.sql", user, limit).fetch_all(self.db.pool()).await?)
    }
}

/// Locks a conversation for the socket that was given `epoch`.
pub(crate) async fn hold(
    connection: &mut PgConnection,
    user: &UserId,
    conversation: &ConversationId,
    epoch: i64,
) -> Result<Result<Locked, LiveLost>, Error> {
    Ok(match lock(connection, user, conversation).await? {
        Some(locked) if locked.live_epoch == Some(epoch) => Ok(locked),
        Some(_) => Err(LiveLost::Superseded),
        None => Err(LiveLost::Ended),
    })
}

/// What a conversation's speech took, by engine.
pub async fn live_usage(
    connection: &mut PgConnection,
    user: &UserId,
    conversation: &ConversationId,
) -> Result<Vec<LiveUsage>, sqlx::Error> {
    query_as!("live_usage/of_conversation.sql", user, conversation).fetch_all(connection).await
}

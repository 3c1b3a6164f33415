//! Opening: the user's conversation in progress is resumed, or a stub is made.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering::Relaxed},
};

use db::{Error, lock_user, query_as, query_scalar};
use records::{ConversationId, Source, Timestamp, UserId};

use crate::Store;

#[derive(Clone, Debug)]
pub struct NewLive {
    /// The id of a stub that is made.
    pub fresh_id: ConversationId,
    /// The client's own id: its conversation is resumed, else a stub gets it if it is free.
    pub wanted_id: Option<ConversationId>,
    /// The capture device: its conversation is resumed where no id is wanted, or the one that is was used before.
    pub device_id: Option<String>,
    pub platform: Option<String>,
    /// A language code, or `multi`.
    pub language: String,
    /// Where it comes from.
    pub source: Source,
    /// Seconds of silence that end it.
    pub timeout: i32,
    /// The process that holds the socket.
    pub process: String,
    /// Set once the session begins to end: its client may have another socket by now, whose conversation is not taken over.
    pub is_ending: Arc<AtomicBool>,
}

/// A live conversation, owned by the socket that was given its epoch.
#[derive(Clone, Debug, PartialEq)]
pub struct LiveConversation {
    pub id: ConversationId,
    /// What every operation of this socket names.
    pub epoch: i64,
    /// How long ago it began, in seconds; `None` while nothing was said in it.
    pub began_ago: Option<f64>,
    /// How long ago something was said in it, or it was made, in seconds.
    pub silent_for: f64,
    pub resumed: bool,
    /// It has pictures.
    pub pictured: bool,
}

#[derive(sqlx::FromRow)]
struct OpenedRow {
    conversation_id: String,
    live_epoch: i64,
    started_at: Timestamp,
    last_activity_at: Timestamp,
    has_words: bool,
    has_pictures: bool,
}

impl Store {
    /// Resumes the user's live conversation of this id or device whose last activity is younger than its timeout, or makes
    /// a stub. Either way the caller owns it: operations of sockets that opened it before are refused from now on. Two
    /// opens of one user wait for each other, so that they open one conversation and not two. `None`: no such user, or one who is being deleted.
    pub async fn open_live(&self, user: &UserId, new: &NewLive) -> Result<Option<LiveConversation>, Error> {
        self.db.in_time(self.try_open_live(user, new)).await
    }

    async fn try_open_live(&self, user: &UserId, new: &NewLive) -> Result<Option<LiveConversation>, Error> {
        let (mut transaction, now) = self.db.begin().await?;
        if !lock_user(&mut transaction, user).await? {
            return Ok(None);
        }
        // Read under the lock of the user's row, which may have been waited for.
        let wanted_id = match new.is_ending.load(Relaxed) {
            true => Some(&new.fresh_id),
            false => new.wanted_id.as_ref(),
        };
        // The conversation that the client names, else the newest one of its device, is taken over.
        let resumed: Option<OpenedRow> = query_as!(
            "live/resume.sql",
            user,
            wanted_id.map(ConversationId::as_str),
            new.device_id.as_deref(),
            now,
            new.timeout,
            &new.process
        )
        .fetch_optional(&mut *transaction)
        .await?;
        let opened = match resumed {
            Some(row) => LiveConversation {
                id: ConversationId::new(row.conversation_id),
                epoch: row.live_epoch,
                began_ago: row.has_words.then(|| seconds(now - row.started_at)),
                silent_for: seconds(now - row.last_activity_at),
                resumed: true,
                pictured: row.has_pictures,
            },
            None => {
                // A stub under the id that the client wants, or under the fresh one when that is taken or was deleted.
                let id: String = query_scalar!(
                    "live/open.sql",
                    user,
                    wanted_id.map(ConversationId::as_str),
                    new.fresh_id.as_str(),
                    now,
                    &new.language,
                    new.source.as_str(),
                    new.device_id.as_deref(),
                    new.platform.as_deref(),
                    new.timeout,
                    &new.process
                )
                .fetch_one(&mut *transaction)
                .await?;
                LiveConversation {
                    id: ConversationId::new(id),
                    epoch: 1,
                    began_ago: None,
                    silent_for: 0.0,
                    resumed: false,
                    pictured: false,
                }
            }
        };
        transaction.commit().await?;
        Ok(Some(opened))
    }
}

fn seconds(span: chrono::TimeDelta) -> f64 {
    span.as_seconds_f64().max(0.0)
}

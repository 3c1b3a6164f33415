//! Live conversations: one socket owns each, and nothing depends on that socket (`docs/live.md`).
//!
//! Every open raises the row's `live_epoch`; whatever a socket does to its conversation names the epoch it was given, and
//! is refused when a newer one exists. `process_after` says when the conversation is to be processed though its socket
//! says nothing more: the reconciler goes by it.

mod append;
mod close;
mod due;
mod open;
mod photos;
mod resume;
mod speakers;
mod usage;
mod view;

pub use append::{Appended, SegmentIds};
use db::Error;
pub use due::LIVE_GRACE;
pub use open::{LiveConversation, NewLive};
pub use photos::{Photo, PhotoRefusal};
use records::{ConversationId, Timestamp, UserId};
pub use speakers::AssignedSpeaker;
use sqlx::PgConnection;
pub use usage::{LiveUsage, live_usage};
pub use view::LiveView;

use crate::segments::append::lock;

/// Why a socket's operation on its conversation was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LiveLost {
    /// The conversation is being processed, or was deleted.
    Ended,
    /// Another socket opened it since.
    Superseded,
}

/// Locks a user, so that two of the user's sockets wait for each other; whether there is one who is not being deleted.
async fn lock_user(connection: &mut PgConnection, user: &UserId) -> Result<bool, Error> {
    let is_there: Option<i32> = sqlx::query_scalar(include_str!("../../sql/users/lock_staying.sql"))
        .bind(user.as_str())
        .fetch_optional(connection)
        .await?;
    Ok(is_there.is_some())
}

/// Locks a conversation for the socket that was given `epoch`, and answers when it began.
pub(crate) async fn hold(
    connection: &mut PgConnection,
    user: &UserId,
    conversation: &ConversationId,
    epoch: i64,
) -> Result<Result<Timestamp, LiveLost>, Error> {
    Ok(match lock(connection, user, conversation).await? {
        Some((Some(newest), started_at)) if newest == epoch => Ok(started_at),
        Some(_) => Err(LiveLost::Superseded),
        None => Err(LiveLost::Ended),
    })
}

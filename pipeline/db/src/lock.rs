//! The locks that come first in an operation: of an assistant's turn, in whose name it writes, and of its user.

use std::time::Duration;

use records::UserId;
use sqlx::PgConnection;

use crate::{Db, error::Error, query, query_scalar};

/// A turn, and the lease under which it is its process's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnLease {
    pub user: UserId,
    pub reply_id: String,
    /// How long a renewal lasts.
    pub lease: Duration,
}

impl Db {
    /// A handle whose transactions begin by renewing the lease of `turn`, and fail with [`Error::TurnLost`] where it ran out. So a
    /// process that was frozen since it last asked changes nothing, and the turn reads as running when the change is seen.
    #[must_use]
    pub fn in_turn(&self, turn: TurnLease) -> Self {
        Self { turn: Some(turn.into()), ..self.clone() }
    }

    /// Holds the turn of this handle, if there is one, until the transaction ends.
    pub(crate) async fn hold_turn(&self, connection: &mut PgConnection) -> Result<(), Error> {
        let Some(turn) = &self.turn else { return Ok(()) };
        let held = query!("turns/hold.sql", &turn.user, &turn.reply_id, turn.lease.as_secs_f64())
            .execute(connection)
            .await?;
        if held.rows_affected() > 0 { Ok(()) } else { Err(Error::TurnLost) }
    }
}

/// Locks a user's row, which comes first in the order of locks: an operation that counts a user's objects before adding to
/// them holds it. Returns whether there is such a user, who is not being deleted.
pub async fn lock_user(connection: &mut PgConnection, user: &UserId) -> Result<bool, Error> {
    let stays = query_scalar!("users/lock.sql", user);
    Ok(stays.fetch_optional(connection).await?.unwrap_or(false))
}

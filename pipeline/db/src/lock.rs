//! The first lock of an operation that counts what a user has.

use records::UserId;
use sqlx::PgConnection;

use crate::Error;

/// Locks a user's row, which comes first in the order of locks: an operation that counts a user's objects before adding to
/// them holds it.
pub async fn lock_user(connection: &mut PgConnection, user: &UserId) -> Result<(), Error> {
    sqlx::query(include_str!("../sql/users/lock.sql")).bind(user.as_str()).execute(connection).await?;
    Ok(())
}

//! The end of a socket: an empty stub goes, everything else waits for its timeout or for the next socket.

use db::Error;
use records::{ConversationId, UserId};

use super::{LiveLost, hold};
use crate::Store;

impl Store {
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
                let deleted = sqlx::query(include_str!("../../sql/live/delete_empty.sql"))
                    .bind(user.as_str())
                    .bind(conversation.as_str())
                    .execute(&mut *transaction)
                    .await?;
                if deleted.rows_affected() == 0 {
                    sqlx::query(include_str!("../../sql/live/leave.sql"))
                        .bind(user.as_str())
                        .bind(conversation.as_str())
                        .execute(&mut *transaction)
                        .await?;
                }
                transaction.commit().await?;
                Ok(Ok(()))
            })
            .await
    }
}

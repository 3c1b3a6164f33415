//! The end of a socket: an empty stub goes, everything else waits for its timeout or for the next socket.

use records::{ConversationId, UserId};

use super::{LiveLost, hold};
use crate::{
    Ledger,
    admit::has_content,
    error::{Doing, Error},
};

impl Ledger {
    /// Deletes the conversation of a socket that was closed, if it has no content; else no process holds it any more.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn close_live(
        &self,
        user: &UserId,
        conversation: &ConversationId,
        epoch: i64,
    ) -> Result<Result<(), LiveLost>, Error> {
        const DOING: &str = "closing a live conversation";
        self.in_time(async {
            let (mut transaction, _) = self.begin(DOING).await?;
            if let Err(lost) = hold(&mut transaction, user, conversation, epoch, DOING).await? {
                return Ok(Err(lost));
            }
            let deleted = sqlx::query(concat!(
                "delete from conversations c where user_id = $1 and conversation_id = $2 and not ",
                has_content!()
            ))
            .bind(user.as_str())
            .bind(conversation.as_str())
            .execute(&mut *transaction)
            .await
            .doing(DOING)?;
            if deleted.rows_affected() == 0 {
                sqlx::query(
                    "update conversations set live_process = null where user_id = $1 and conversation_id = $2",
                )
                .bind(user.as_str())
                .bind(conversation.as_str())
                .execute(&mut *transaction)
                .await
                .doing(DOING)?;
            }
            transaction.commit().await.doing(DOING)?;
            Ok(Ok(()))
        })
        .await
    }
}

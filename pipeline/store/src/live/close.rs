//! The end of a socket: an empty stub goes, everything else waits for its timeout or for the next socket.

use db::{Doing, Error};
use records::{ConversationId, UserId};

use super::{LiveLost, hold};
use crate::Store;

impl Store {
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
        self.db.in_time(async {
            let (mut transaction, _) = self.db.begin(DOING).await?;
            if let Err(lost) = hold(&mut transaction, user, conversation, epoch, DOING).await? {
                return Ok(Err(lost));
            }
            let deleted = sqlx::query(
                "delete from conversations c where user_id = $1 and conversation_id = $2 \
                     and not (c.private_text is not null \
                         or exists (select from transcript_segments s \
                             where s.user_id = c.user_id and s.conversation_id = c.conversation_id) \
                         or exists (select from photos p \
                             where p.user_id = c.user_id and p.conversation_id = c.conversation_id))",
            )
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

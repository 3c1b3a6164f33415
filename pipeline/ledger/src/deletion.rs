//! The deletion of a conversation, which withdraws its jobs.

use db::{Error, idempotency::forget_answers, query, query_scalar, sql};
use job::Command;
use outbox::reminders::lock_subscriptions;
use records::{ConversationId, UserId};
use store::budgets::refund;

use crate::{
    Ledger,
    effects::Abort,
    retry_conflicts,
    row::{live_job, unsettled},
};

impl Ledger {
    /// Deletes a conversation with everything that hangs on it, withdraws its live job, and settles its dead letters, in one
    /// transaction (DECISIONS §3, "delete a conversation"). `false`: no such conversation.
    pub async fn delete_conversation(
        &self,
        user: &UserId,
        conversation: &ConversationId,
    ) -> Result<bool, Error> {
        retry_conflicts!("deleting a conversation", async {
            let (mut transaction, now) = self.db.begin().await?;
            if let Some(live) = live_job(&mut transaction, user, conversation).await? {
                // A refusal is a job that came to rest meanwhile: nothing to withdraw.
                self.decide(&mut transaction, &live, Command::Withdraw, None, now).await?;
            }
            // Its items' pushes go with it.
            lock_subscriptions(&mut transaction, user).await?;
            let deleted: Option<i64> = query_scalar!("conversations/delete.sql", user, conversation)
                .fetch_optional(&mut *transaction)
                .await?;
            let Some(bytes) = deleted else { return Ok(false) };
            if live_job(&mut transaction, user, conversation).await?.is_some() {
                return Err(Abort::Conflict); // admitted between our look and the deletion: withdraw that one, too
            }
            // What is left of it outside the tables that follow it by foreign key: checkpoints, the words of what its user
            // deleted of it, deliveries (undelivered ones go, the bodies of the others are erased), answers to requests.
            for statement in [
                sql!("conversations/forget_checkpoints.sql"),
                sql!("conversations/forget_extractions.sql"),
                sql!("conversations/cancel_deliveries.sql"),
                sql!("conversations/erase_deliveries.sql"),
            ] {
                sqlx::query(statement).bind(user).bind(conversation).execute(&mut *transaction).await?;
            }
            forget_answers(&mut transaction, user, &[conversation.as_str()]).await?;
            query!("conversations/note_deleted.sql", user, conversation, now)
                .execute(&mut *transaction)
                .await?;
            // The conversation before its dead letters, as a replay and an admission lock them.
            for dead in unsettled(&mut transaction, &[user.as_str()], &[conversation.as_str()]).await? {
                // A refusal is a dead letter that was dismissed meanwhile.
                self.decide(&mut transaction, &dead, Command::Withdraw, None, now).await?;
            }
            refund(&mut transaction, user, bytes).await?;
            transaction.commit().await?;
            self.db.waker().job_settled();
            Ok(true)
        })
        .await
    }
}

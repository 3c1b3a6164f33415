//! Who a speaker of a live conversation is.

use db::Error;
use records::{ConversationId, UserId};

use super::{LiveLost, hold};
use crate::Store;

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
                let is_known: bool = sqlx::query_scalar(include_str!("../../sql/people/is_known.sql"))
                    .bind(user.as_str())
                    .bind(assigned.person_id.as_deref())
                    .fetch_one(&mut *transaction)
                    .await?;
                if !is_known {
                    return Ok(Ok(false));
                }
                sqlx::query(include_str!("../../sql/live/name_speaker.sql"))
                    .bind(user.as_str())
                    .bind(conversation.as_str())
                    .bind(assigned.person_id.as_deref())
                    .bind(assigned.speaker_id)
                    .bind(&assigned.segment_ids)
                    .execute(&mut *transaction)
                    .await?;
                // An admission that has read the segments before reads them again.
                sqlx::query(include_str!("../../sql/live/speaker_named.sql"))
                    .bind(user.as_str())
                    .bind(conversation.as_str())
                    .bind(now)
                    .execute(&mut *transaction)
                    .await?;
                transaction.commit().await?;
                Ok(Ok(true))
            })
            .await
    }
}

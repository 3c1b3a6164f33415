//! One conversation with all that hangs on it.

use db::Error;
use records::{Conversation, ConversationId, UserId};
use sqlx::FromRow;

use super::{ConversationView, row::ConversationRow};
use crate::{
    Store,
    columns::{ItemColumns, PeopleColumns, SegmentColumns},
};

impl Store {
    /// One conversation, whatever its status.
    pub async fn conversation(
        &self,
        user: &UserId,
        conversation: &ConversationId,
        with_transcript: bool,
    ) -> Result<Option<ConversationView>, Error> {
        let read = async {
            let row: Option<OneRow> = sqlx::query_as(include_str!("../../sql/conversations/one.sql"))
                .bind(user.as_str())
                .bind(conversation.as_str())
                .bind(with_transcript)
                .fetch_optional(self.db.pool())
                .await?;
            row.map(|row| row.view(with_transcript)).transpose()
        };
        self.db.in_time(read).await
    }
}

/// A conversation's row, with the names of its owner and its folder, and what hangs on it.
#[derive(FromRow)]
struct OneRow {
    #[sqlx(flatten)]
    row: ConversationRow,
    user_name: Option<String>,
    folder_name: Option<String>,
    #[sqlx(flatten)]
    items: ItemColumns,
    #[sqlx(flatten)]
    segments: SegmentColumns,
    #[sqlx(flatten)]
    people: PeopleColumns,
}

impl OneRow {
    fn view(mut self, with_transcript: bool) -> Result<ConversationView, Error> {
        let apps_results = self.row.take_apps_results()?;
        let conversation = Conversation::try_from(self.row)?;
        Ok(ConversationView {
            apps_results,
            folder_name: self.folder_name,
            action_items: self.items.of(&conversation.id),
            segments: with_transcript.then(|| self.segments.rows()),
            user_name: self.user_name,
            people: self.people.rows(),
            conversation,
        })
    }
}

//! Conversations as their owner sees and changes them.

mod page;
pub mod row;
pub mod shapes;
mod view;

pub use view::views;

use std::convert::Infallible;

use db::{Error, query, query_as};
use records::{ActionItem, Category, Conversation, ConversationId, FolderId, Segment, UserId};

use crate::{DatePage, Store, folders::hold_folder};

/// Which status the conversations of a list have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StatusFilter {
    /// Completed, and not discarded (spec).
    #[default]
    Completed,
    Processing,
    /// Given up; they are discarded.
    Failed,
    InProgress,
    /// Every status, discarded ones too.
    Any,
}

/// Which conversations to list: by default only completed, not discarded ones (spec).
#[derive(Clone, Debug, Default)]
pub struct ConversationFilter {
    pub page: DatePage,
    pub status: StatusFilter,
    /// Any of these categories; empty is all.
    pub categories: Vec<Category>,
    pub folder_id: Option<FolderId>,
    /// Starred, not starred, or both.
    pub starred: Option<bool>,
    pub with_transcript: bool,
}

/// A conversation with everything that the developer interface shows of it.
#[derive(Clone, Debug, PartialEq)]
pub struct ConversationView {
    pub conversation: Conversation,
    pub folder_name: Option<String>,
    /// Read live from the action items, oldest first.
    pub action_items: Vec<ActionItem>,
    pub segments: Option<Vec<Segment>>,
    /// The owner's own name (for speaker names).
    pub user_name: Option<String>,
    /// Names of known people by id, of those that the segments name.
    pub people: Vec<(String, String)>,
    /// What apps made of it: (app id, content).
    pub apps_results: Vec<(Option<String>, String)>,
}

/// A conversation that still takes words.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct InProgress {
    #[sqlx(rename = "conversation_id")]
    pub id: ConversationId,
    /// A socket fills it, or did.
    pub is_live: bool,
}

/// What a PATCH changes; `None` leaves it.
#[derive(Clone, Debug, Default)]
pub struct ConversationChange {
    /// 1–500 characters.
    pub title: Option<String>,
    /// Hide or show.
    pub discarded: Option<bool>,
    pub starred: Option<bool>,
    /// File, or take out (`Some(None)`).
    pub folder_id: Option<Option<FolderId>>,
}

impl ConversationFilter {
    /// The text of the statement that lists a user's conversations without their transcripts, for tests that
    /// explain or measure it. Without dates, filters and an offset, every parameter in it is the user's id.
    pub fn statement(&self, user: &UserId) -> String {
        page::page(user, self).sql().as_str().to_owned()
    }
}

impl Store {
    /// A page of conversations, created_at descending, then id.
    pub async fn conversations(
        &self,
        user: &UserId,
        filter: &ConversationFilter,
    ) -> Result<Vec<ConversationView>, Error> {
        let Ok(views) = self.conversations_within(user, filter, |_| Ok::<(), Infallible>(())).await?;
        Ok(views)
    }

    /// The user's most recently active conversation in progress; the stub of a socket into which nothing was said yet is
    /// none.
    pub async fn in_progress(&self, user: &UserId) -> Result<Option<InProgress>, Error> {
        Ok(query_as!("conversations/in_progress.sql", user).fetch_optional(self.db.pool()).await?)
    }

    /// Applies a person's change; what a person set survives completion and replay. `false`: there is no such conversation
    /// or folder (any more), and nothing is changed.
    pub async fn change_conversation(
        &self,
        user: &UserId,
        conversation: &ConversationId,
        change: &ConversationChange,
    ) -> Result<bool, Error> {
        let (mut transaction, now) = self.db.begin().await?;
        let folder = change.folder_id.as_ref().and_then(Option::as_ref);
        if let Some(folder) = folder
            && !hold_folder(&mut transaction, user, folder).await?
        {
            return Ok(false);
        }
        // A discarded mark that a person gave or took is no longer the dead letter's to take back.
        let changed = query!(
            "conversations/change.sql",
            user,
            conversation,
            now,
            change.title.as_deref(),
            change.discarded,
            change.starred,
            change.folder_id.is_some(),
            folder.map(FolderId::as_str)
        )
        .execute(&mut *transaction)
        .await?;
        transaction.commit().await?;
        Ok(changed.rows_affected() > 0)
    }
}

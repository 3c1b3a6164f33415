//! What the assistant lists: conversations of a span of time, and action items by state and due date.

use db::{Error, query_as};
use records::{ActionItem, Timestamp, UserId};

use super::{KEPT_PLANS, things::COMPARED};
use crate::Store;

/// A conversation in a list, without what was said.
#[derive(Clone, Debug, PartialEq, sqlx::FromRow)]
pub struct ConversationLine {
    pub conversation_id: String,
    pub title: String,
    pub overview: String,
    pub category: String,
    pub started_at: Timestamp,
    pub finished_at: Timestamp,
}

/// Which action items to list; what is `None` does not matter.
#[derive(Clone, Debug, Default)]
pub struct TaskFilter {
    /// Done, or not.
    pub completed: Option<bool>,
    /// Due at or after this moment.
    pub due_after: Option<Timestamp>,
    /// Due before this moment.
    pub due_before: Option<Timestamp>,
    /// Done at or after this moment.
    pub completed_after: Option<Timestamp>,
    /// Done before this moment.
    pub completed_before: Option<Timestamp>,
    pub words: Option<String>,
    pub language: String,
    pub limit: i64,
}

impl Store {
    /// A user's conversations that began in a span of time, newest first.
    pub async fn conversations_between(
        &self,
        user: &UserId,
        start: Option<Timestamp>,
        end: Option<Timestamp>,
        limit: i64,
    ) -> Result<Vec<ConversationLine>, Error> {
        Ok(query_as!("search/spans.sql", user, start, end, limit).fetch_all(self.db.pool()).await?)
    }

    /// A user's action items: open ones first, those that are due next before all others.
    pub async fn tasks(&self, user: &UserId, filter: &TaskFilter) -> Result<Vec<ActionItem>, Error> {
        let words = match &filter.words {
            Some(words) => match self.words_of(words, &filter.language).await? {
                Some(words) => Some(words),
                None => return Ok(Vec::new()),
            },
            None => None,
        };
        let mut transaction = self.db.begin_reading().await?;
        Ok(query_as!(
            "search/tasks.sql",
            user,
            filter.completed,
            filter.due_after,
            filter.due_before,
            filter.completed_after,
            filter.completed_before,
            words.as_ref().map(|words| words.any.as_str()),
            words.as_ref().map_or("simple", |words| words.configuration),
            filter.limit,
            COMPARED
        )
        .persistent(KEPT_PLANS)
        .fetch_all(&mut *transaction)
        .await?)
    }
}

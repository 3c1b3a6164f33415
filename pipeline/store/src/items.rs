//! Action items.

use db::{Error, query_as};
use records::{ActionItem, ConversationId, UserId};
use sqlx::QueryBuilder;

use crate::{
    Store,
    paging::{DatePage, push_after, push_page},
};

#[derive(Clone, Debug, Default)]
pub struct ItemFilter {
    /// Dates (creation) and paging.
    pub page: DatePage,
    /// Done, or not done, or both.
    pub completed: Option<bool>,
    pub conversation_id: Option<ConversationId>,
}

impl Store {
    /// A page of action items, created_at descending, then id.
    pub async fn action_items(&self, user: &UserId, filter: &ItemFilter) -> Result<Vec<ActionItem>, Error> {
        let mut query = QueryBuilder::new("select ");
        query.push(ITEM_COLUMNS).push(" from action_items where user_id = ").push_bind(user.as_str());
        if let Some(start) = filter.page.start {
            query.push(" and created_at >= ").push_bind(start);
        }
        if let Some(end) = filter.page.end {
            query.push(" and created_at <= ").push_bind(end);
        }
        if let Some(completed) = filter.completed {
            query.push(" and completed = ").push_bind(completed);
        }
        if let Some(conversation) = &filter.conversation_id {
            query.push(" and conversation_id = ").push_bind(conversation.as_str());
        }
        push_after(&mut query, filter.page.after.as_ref(), "(position, action_item_id)");
        query.push(" order by created_at desc, position, action_item_id");
        push_page(&mut query, &filter.page);
        Ok(query.build_query_as().fetch_all(self.db.pool()).await?)
    }

    /// Those of the named items that still exist, in the order of their names.
    pub async fn action_items_named(&self, user: &UserId, ids: &[String]) -> Result<Vec<ActionItem>, Error> {
        Ok(query_as!("items/by_ids.sql", user, ids).fetch_all(self.db.pool()).await?)
    }
}

/// What [`ActionItem`] is read from.
const ITEM_COLUMNS: &str = "action_item_id, description, completed, created_at, updated_at, due_at, completed_at, conversation_id, position";

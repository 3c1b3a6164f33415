//! Memories.

use std::convert::Infallible;

use db::{After, Error, query_as};
use records::{Memory, MemoryCategory, UserId};
use sqlx::QueryBuilder;

use crate::{
    Store,
    paging::{load_within, push_after, push_rows},
};

#[derive(Clone, Debug, Default)]
pub struct MemoryFilter {
    pub limit: i64,
    pub offset: i64,
    /// Go on after this row, and skip none.
    pub after: Option<After>,
    /// Any of these; empty is all.
    pub categories: Vec<MemoryCategory>,
}

impl Store {
    /// A page of memories, created_at descending, then id.
    pub async fn memories(&self, user: &UserId, filter: &MemoryFilter) -> Result<Vec<Memory>, Error> {
        let Ok(memories) = self.memories_within(user, filter, |_| Ok::<(), Infallible>(())).await?;
        Ok(memories)
    }

    /// The same, where `reserve` is asked for memory as they are loaded: a thousand with all the tags that they may have take 40 MB.
    /// Returns its refusal.
    pub async fn memories_within<R>(
        &self,
        user: &UserId,
        filter: &MemoryFilter,
        reserve: impl FnMut(usize) -> Result<(), R>,
    ) -> Result<Result<Vec<Memory>, R>, Error> {
        let mut query = QueryBuilder::new("select ");
        query.push(MEMORY_COLUMNS).push(" from memories where user_id = ").push_bind(user.as_str());
        if !filter.categories.is_empty() {
            let names: Vec<&str> = filter.categories.iter().map(|category| category.as_str()).collect();
            query.push(" and category = any(").push_bind(names).push(")");
        }
        push_after(&mut query, filter.after.as_ref(), "(0, memory_id)");
        query.push(" order by created_at desc, memory_id");
        push_rows(&mut query, filter.limit, if filter.after.is_some() { 0 } else { filter.offset });
        let rows = query.build_query_as::<Memory>().fetch(self.db.pool());
        load_within(rows, Ok, words, reserve).await
    }

    /// Those of the named memories that still exist, in the order of their names.
    pub async fn memories_named(&self, user: &UserId, ids: &[String]) -> Result<Vec<Memory>, Error> {
        Ok(query_as!("memories/by_ids.sql", user, ids).fetch_all(self.db.pool()).await?)
    }
}

/// What [`Memory`] is read from.
const MEMORY_COLUMNS: &str = "memory_id, content, category, visibility = 'public' as public, tags, created_at, updated_at, \
     manually_added, reviewed, user_review, edited, scoring, conversation_id";

/// The bytes of its words, and what each of them takes besides.
fn words(memory: &Memory) -> usize {
    let tags = memory.tags.iter().map(|tag| tag.len() + size_of::<String>());
    memory.content.len() + tags.sum::<usize>()
}

/// The column `visibility`.
pub fn visibility(public: bool) -> &'static str {
    match public {
        true => "public",
        false => "private",
    }
}

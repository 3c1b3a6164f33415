//! Memories that a person makes.

use db::Error;
use outbox::announce::announce_created;
use records::{EventKind, Memory, MemoryCategory, MemoryId, UserId};
use store::memories::MemoryRow;

use crate::Ledger;

/// A memory to be created; it belongs to no conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewPersonMemory {
    pub id: MemoryId,
    /// 1–500 characters.
    pub content: String,
    /// One of the ten.
    pub category: MemoryCategory,
    /// `true` for public, `false` for private.
    pub public: bool,
    /// Free labels.
    pub tags: Vec<String>,
}

impl Ledger {
    /// Stores memories, all or none, and returns them in the order in which they came. A user who writes a fact down has
    /// reviewed it: they are `manually_added`, `reviewed`, and the verdict is `true`. Endpoints that subscribed to
    /// `memory.created` get an event for each.
    pub async fn create_memories(
        &self,
        user: &UserId,
        new: &[NewPersonMemory],
    ) -> Result<Vec<Memory>, Error> {
        let ids: Vec<&str> = new.iter().map(|memory| memory.id.as_str()).collect();
        let (mut transaction, now) = self.db.begin_creating(&ids).await?;
        let mut memories = Vec::with_capacity(new.len());
        for memory in new {
            let row: MemoryRow = sqlx::query_as(include_str!("../../sql/memories/insert.sql"))
                .bind(user.as_str())
                .bind(memory.id.as_str())
                .bind(&memory.content)
                .bind(memory.category.as_str())
                .bind(store::memories::visibility(memory.public))
                .bind(&memory.tags)
                .bind(now)
                .fetch_one(&mut *transaction)
                .await?;
            memories.push(row.try_into()?);
        }
        let entries = announce_created(&mut transaction, user, EventKind::MemoryCreated, &ids, now).await?;
        transaction.commit().await?;
        if entries > 0 {
            self.db.waker().deliveries_written();
        }
        Ok(memories)
    }
}

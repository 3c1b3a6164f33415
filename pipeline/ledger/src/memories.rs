//! A user's own changes of memories: the memory and its events in one transaction.

use db::{Error, idempotency::forget_answers, query_as, query_scalar};
use outbox::{announce::announce_created, deliveries::forget_objects};
use records::{EventKind, Memory, MemoryCategory, MemoryId, UserId};

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
    pub tags: Vec<String>,
}

/// What a PATCH changes; `None` leaves it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryChange {
    /// 1–500 characters.
    pub content: Option<String>,
    /// One of the ten.
    pub category: Option<MemoryCategory>,
    /// `true` for public, `false` for private.
    pub public: Option<bool>,
    pub tags: Option<Vec<String>>,
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
            let memory = query_as!(
                "memories/insert.sql",
                user,
                memory.id.as_str(),
                &memory.content,
                memory.category.as_str(),
                store::memories::visibility(memory.public),
                &memory.tags,
                now
            )
            .fetch_one(&mut *transaction)
            .await?;
            memories.push(memory);
        }
        let entries = announce_created(&mut transaction, user, EventKind::MemoryCreated, &ids, now).await?;
        transaction.commit().await?;
        if entries > 0 {
            self.db.waker().deliveries_written();
        }
        Ok(memories)
    }

    /// Changes a memory and marks it as edited, so that later revisions of its conversation spare it. `None`: no such
    /// memory.
    pub async fn change_memory(
        &self,
        user: &UserId,
        memory: &MemoryId,
        change: &MemoryChange,
    ) -> Result<Option<Memory>, Error> {
        let (mut transaction, now) = self.db.begin().await?;
        let memory = query_as!(
            "memories/update.sql",
            user,
            memory,
            now,
            &change.content,
            change.category.map(MemoryCategory::as_str),
            change.public.map(store::memories::visibility),
            &change.tags
        )
        .fetch_optional(&mut *transaction)
        .await?;
        transaction.commit().await?;
        Ok(memory)
    }

    /// Deletes a memory for good, with its undelivered events. `false`: no such memory.
    pub async fn delete_memory(&self, user: &UserId, memory: &MemoryId) -> Result<bool, Error> {
        let (mut transaction, _) = self.db.begin().await?;
        let conversation: Option<Option<String>> =
            query_scalar!("memories/delete.sql", user, memory).fetch_optional(&mut *transaction).await?;
        forget_answers(&mut transaction, user, &[memory.as_str()]).await?;
        if let Some(of) = &conversation {
            forget_objects(&mut transaction, user, of.as_deref(), &[memory.as_str()]).await?;
        }
        transaction.commit().await?;
        Ok(conversation.is_some())
    }
}

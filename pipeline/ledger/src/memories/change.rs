//! A person's changes of memories.

use db::{Error, idempotency::forget_answers};
use outbox::deliveries::forget::forget_objects;
use records::{Memory, MemoryCategory, MemoryId, UserId};
use store::memories::MemoryRow;

use crate::Ledger;

/// What a PATCH changes; `None` leaves it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryChange {
    /// 1–500 characters.
    pub content: Option<String>,
    /// One of the ten.
    pub category: Option<MemoryCategory>,
    /// `true` for public, `false` for private.
    pub public: Option<bool>,
    /// Free labels, all of them.
    pub tags: Option<Vec<String>>,
}

impl Ledger {
    /// Changes a memory and marks it as edited, so that later revisions of its conversation spare it. `None`: no such
    /// memory.
    pub async fn change_memory(
        &self,
        user: &UserId,
        memory: &MemoryId,
        change: &MemoryChange,
    ) -> Result<Option<Memory>, Error> {
        let (mut transaction, now) = self.db.begin().await?;
        let row: Option<MemoryRow> = sqlx::query_as(include_str!("../../sql/memories/update.sql"))
            .bind(user.as_str())
            .bind(memory.as_str())
            .bind(now)
            .bind(&change.content)
            .bind(change.category.map(MemoryCategory::as_str))
            .bind(change.public.map(store::memories::visibility))
            .bind(&change.tags)
            .fetch_optional(&mut *transaction)
            .await?;
        transaction.commit().await?;
        row.map(Memory::try_from).transpose()
    }

    /// Deletes a memory for good, with its undelivered events. `false`: no such memory.
    pub async fn delete_memory(&self, user: &UserId, memory: &MemoryId) -> Result<bool, Error> {
        let (mut transaction, _) = self.db.begin().await?;
        let conversation: Option<Option<String>> =
            sqlx::query_scalar(include_str!("../../sql/memories/delete.sql"))
                .bind(user.as_str())
                .bind(memory.as_str())
                .fetch_optional(&mut *transaction)
                .await?;
        forget_answers(&mut transaction, user, &[memory.as_str()]).await?;
        if let Some(of) = &conversation {
            forget_objects(&mut transaction, user, of.as_deref(), &[memory.as_str()]).await?;
        }
        transaction.commit().await?;
        Ok(conversation.is_some())
    }
}

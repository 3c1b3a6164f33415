//! Replaying many dead letters as an operation that outlives the command that started it.
//!
//! The filter is frozen as a list. Any process with the role reconciler locks the operation and replays its next item: the
//! item is marked in the transaction that replays its job, so whatever dies where, each item is replayed once or refused once.

mod freeze;
mod step;

use db::{Error, query, query_as};
use job::Timestamp;
use ledger::OperatorAction;

use crate::{JobFilter, Operations};

pub use freeze::ReplayPreview;
pub use step::Stepped;

#[derive(Clone, Debug)]
pub struct ReplayOrder {
    /// Which dead letters; status, place and limit are not looked at.
    pub filter: JobFilter,
    /// The filter in words, for people.
    pub words: String,
    /// Drop what stages recorded, so that all of them are paid for again.
    pub from_scratch: bool,
    /// Items a minute, at least 1.
    pub per_minute: i32,
    /// Replayed jobs that may be unfinished at once, at least 1.
    pub in_flight: i32,
}

/// An operation as operators see it.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct ReplayView {
    pub operation_id: String,
    /// `running`, `paused`, `cancelled` or `done`.
    pub status: String,
    pub operator: String,
    pub reason: String,
    /// What was asked for, in words.
    pub filter: String,
    /// Whether recorded outputs are dropped.
    pub from_scratch: bool,
    pub per_minute: i32,
    /// Replayed jobs that may be unfinished at once.
    pub in_flight: i32,
    pub items: i32,
    pub replayed: i32,
    /// Not replayed, because the job would not have it.
    pub refused: i32,
    /// Of those replayed: completed since.
    pub completed: i32,
    /// Of those replayed: dead again.
    pub died_again: i32,
    /// Of those replayed: parked until their users bring keys.
    pub parked: i32,
    /// Which process worked on it last.
    pub executor: Option<String>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub finished_at: Option<Timestamp>,
}

impl ReplayView {
    /// Items not handled yet.
    pub fn waiting(&self) -> i32 {
        self.items - self.replayed - self.refused
    }

    /// Replayed jobs that are unfinished.
    pub fn unfinished(&self) -> i32 {
        self.replayed - self.completed - self.died_again - self.parked
    }
}

#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct ReplayItem {
    /// Its place on the list, from 1.
    pub position: i32,
    pub user_id: String,
    pub job_id: String,
    /// `waiting`, `replayed`, `refused`, `completed`, `died_again` or `parked`.
    pub status: String,
    /// Why it was refused (`changed`, `missing`, `dismissed`, `superseded`, `conversation_gone`, `not_dead`, `blocked`,
    /// `error`), or the code of which it died again.
    pub result: Option<String>,
    pub changed_at: Option<Timestamp>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplayChange {
    /// Stop for a while; jobs that were replayed go on.
    Pause,
    Resume,
    /// Replay nothing more.
    Cancel,
}

impl Operations {
    pub async fn replay_operations(&self, limit: i64) -> Result<Vec<ReplayView>, Error> {
        Ok(query_as!("replays/list.sql", limit).fetch_all(self.db.pool()).await?)
    }

    pub async fn replay_operation(&self, id: &str) -> Result<Option<ReplayView>, Error> {
        Ok(query_as!("replays/get.sql", id).fetch_optional(self.db.pool()).await?)
    }

    /// A page of an operation's items behind `after`, in the order of the list.
    pub async fn replay_items(&self, id: &str, after: i32, limit: i64) -> Result<Vec<ReplayItem>, Error> {
        Ok(query_as!("replays/items.sql", id, after, limit).fetch_all(self.db.pool()).await?)
    }

    /// Pauses, resumes or cancels an operation: no step begins after the first or the last. One that is resumed is due at
    /// once. `None`: no such operation. `Some(false)`: its status does not allow that.
    pub async fn change_replay(
        &self,
        id: &str,
        change: ReplayChange,
        action: &OperatorAction,
    ) -> Result<Option<bool>, Error> {
        let (verb, to) = match change {
            ReplayChange::Pause => ("pause_bulk", "paused"),
            ReplayChange::Resume => ("resume_bulk", "running"),
            ReplayChange::Cancel => ("cancel_bulk", "cancelled"),
        };
        let (mut transaction, now) = self.db.begin().await?;
        let changed = query!("replays/change_status.sql", id, to, now).execute(&mut *transaction).await?;
        if changed.rows_affected() == 0 {
            transaction.rollback().await?;
            return Ok(self.replay_operation(id).await?.map(|_| false));
        }
        action.record(&mut transaction, verb, None, id, now).await?;
        transaction.commit().await?;
        Ok(Some(true))
    }
}

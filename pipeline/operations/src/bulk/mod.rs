//! Replaying many dead letters as an operation that outlives the command that started it.
//!
//! The filter is frozen as a list. Any process with the role reconciler takes the operation under a lease and an
//! epoch, as a worker takes a job, and replays item by item: the item is marked in the transaction that replays
//! its job, so whatever dies where, each item is replayed once or refused once.

mod freeze;
mod manage;
mod step;

use job::Timestamp;

use super::JobFilter;

pub use freeze::ReplayPreview;
pub use step::{ReplayTurn, Stepped};

/// What is to be replayed, and how fast.
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
    /// Which process works on it, or worked last.
    pub executor: Option<String>,
    /// Until when that process has it, unless it renews.
    pub lease_until: Timestamp,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub finished_at: Option<Timestamp>,
}

impl ReplayView {
    /// Items not handled yet.
    pub fn waiting(&self) -> i32 {
        self.items - self.replayed - self.refused
    }

    /// Replayed jobs that have not come to rest.
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
    /// Why it was refused (`changed`, `missing`, `superseded`, `conversation_gone`, `not_dead`, `blocked`, `error`), or
    /// the code of which it died again.
    pub result: Option<String>,
    /// When that happened.
    pub changed_at: Option<Timestamp>,
}

/// What an operator does to an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplayChange {
    /// Stop for a while; jobs that were replayed go on.
    Pause,
    Resume,
    /// Replay nothing more.
    Cancel,
}

//! The database of one process: sessions, transactions in which every wait is bounded, and what failed.
//!
//! [`Db`] is the handle that every other crate with SQL is built on. It holds no statement about a user's data: those
//! stand in `store`, `outbox`, `ledger` and `operations`.

mod after;
mod connect;
mod deadline;
mod error;
mod lock;
mod refusal;
mod release;
pub mod repeats;
pub mod secrets;
mod waker;
mod wakes;
pub mod walk;

use std::sync::Arc;

use sqlx::PgPool;

use crate::{deadline::Doubts, release::Releases};

pub use after::After;
pub use connect::{MIGRATOR, Migrated, applied};
pub use error::{Doing, Error, Trouble};
pub use lock::lock_user;
pub use release::ClosedSessions;
pub use repeats::{Repeat, RequestKey};
pub use secrets::{BadSecretsKey, Secrets};
pub use waker::{Waker, index_of};
pub use walk::{Passed, Place, Walked};

/// The database of one process: its sessions, the keys of stored secrets, and the waker of its workers. Cheap to clone.
#[derive(Clone)]
pub struct Db {
    pool: PgPool,
    /// Leases are renewed through two sessions of their own, so that a busy API cannot end them.
    renewals: PgPool,
    secrets: Secrets,
    waker: Waker,
    /// The idempotency key of the request on whose behalf this handle creates.
    request_key: Option<Arc<RequestKey>>,
    doubts: Doubts,
    releases: Releases,
}

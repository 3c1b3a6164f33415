//! The database of one process: sessions, transactions in which every wait is bounded, and what failed.
//!
//! [`Db`] is the handle that every other crate with SQL is built on. It holds no statement about a user's data: those
//! stand in `store`, `outbox`, `ledger` and `operations`.

#![allow(missing_docs, reason = "where a name says it all")]

mod connect;
pub mod cursor;
mod deadline;
mod error;
pub mod idempotency;
mod locate;
mod lock;
mod migrate;
mod pooler;
pub mod secrets;
mod shard;
mod sql;
mod waker;
mod wakes;

use std::sync::Arc;

use sqlx::PgPool;

use crate::{deadline::SuspectConnections, locate::Locator};

pub use cursor::{After, Cursor, KeysetPage};
pub use error::{Error, Trouble};
pub use idempotency::{Repeat, RequestKey};
pub use locate::{Hosts, writes};
pub use lock::{TurnLease, lock_user};
pub use migrate::{ENCODING, MIGRATOR, Migrated, applied, encoding};
pub use pooler::Pooling;
pub use secrets::{BadSecretsKey, Secrets};
pub use shard::{Found, Shard};
pub use sql::array;
pub use waker::{Waker, index_of};

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
    /// The turn of the assistant in whose name this handle writes.
    turn: Option<Arc<TurnLease>>,
    shard: Shard,
    locator: Locator,
    suspects: SuspectConnections,
}

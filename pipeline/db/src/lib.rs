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

pub use after::After;
pub use connect::{Db, MIGRATOR, Migrated, applied};
pub use error::{Doing, Error, Trouble};
pub use lock::lock_user;
pub use release::ClosedSessions;
pub use repeats::{Repeat, RequestKey};
pub use secrets::{BadSecretsKey, Secrets};
pub use waker::{Waker, index_of};
pub use walk::{Passed, Place, Walked};

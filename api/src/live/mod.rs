//! Live sockets (`docs/live.md`): what the pure machine of the crate `live` decides, carried out for one socket.
//!
//! [`Actor`] owns a socket, its recognizer and its timers; everything it waits for is bounded. A conversation never
//! depends on it: what is final is in the ledger, and the ledger's row says when it is to be processed.

mod actor;
mod after;
mod begin;
mod ear;
mod operate;
pub(crate) mod page;
mod pictures;
mod query;
mod usage;
mod writer;

pub(crate) use actor::Actor;
pub(crate) use begin::Start;
pub(crate) use query::{Asks, asks};

/// The largest frame that is taken (`docs/live.md`).
pub(crate) const LARGEST_FRAME: usize = 64 * 1_024;

//! What operators read and do: lists, one job and why it waits, bulk replays, pauses, pruning, health, erasure.
//!
//! [`Operations`] stands behind the command line, the console, the metrics and the reconciler. Every read costs the same
//! on a long history: it is bounded by a page, by living processes, by the last hour, or by totals that were counted
//! with the change.

#![allow(missing_docs, reason = "where a name says it all")]

mod apps;
mod audit;
mod backlog;
mod bulk;
mod deliveries;
mod doctor;
mod erase;
mod find;
mod health;
mod list;
mod orders;
mod overview;
mod page;
mod pauses;
mod people;
mod processes;
mod prune;
mod round;
mod secrets;
mod servers;
mod verify;
mod webhooks;

use std::ops::Deref;

use db::Db;
use ledger::Ledger;

pub use apps::OperatorApp;
pub use audit::{ACTIONS, ActionFilter, ActionView, action_name, actions_named};
pub use backlog::{Backlog, Gauges, MANY_FAILING};
pub use bulk::{ReplayChange, ReplayItem, ReplayOrder, ReplayPreview, ReplayView, Stepped};
pub use deliveries::{TriedNow, delivery_subject};
pub use doctor::{Examination, OldTransaction};
pub use erase::ErasureStep;
pub use find::{FOUND_WITHIN, FoundId, IdKind};
pub use health::{Health, TableHealth};
pub use list::{Cause, Causes, JobCursor, JobFilter, JobsPage};
pub use orders::{GivenToMany, OrderCounts, OrderOfMany};
pub use overview::{MinuteView, Overview};
pub use page::JobPage;
pub use pauses::Pause;
pub use people::UserLine;
pub use processes::{HeldLease, Process, ProcessView, RUN_MILLIS, RunCounts, Workers};
pub use prune::Pruned;
pub use round::LastRound;
pub use secrets::{Resealed, SealedSecrets};
pub use servers::{ModelAnswer, ModelServer, ModelServers, ServerKind, ServerReport};
pub use verify::{CHECKS, Check, Finding};
pub use webhooks::{Enabled, EndpointView, GivenUp};

/// A ledger with what operators read of it and do to it. Made once, where the ledger is; cheap to clone.
#[derive(Clone)]
pub struct Operations {
    db: Db,
    ledger: Ledger,
}

impl Operations {
    pub fn new(ledger: &Ledger) -> Self {
        Self { db: ledger.db().clone(), ledger: ledger.clone() }
    }
}

impl Deref for Operations {
    type Target = Ledger;

    fn deref(&self) -> &Ledger {
        &self.ledger
    }
}

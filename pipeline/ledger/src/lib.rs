//! Jobs, and every operation that writes a user's data, its job and the outbox in one transaction.
//!
//! Every operation on a job is short: read, `job::decide`, store by compare-and-set on the row's version, effects,
//! commit. Locks are taken in one order everywhere: user, job, conversation, its children, deliveries, totals.

#![allow(missing_docs, reason = "where a name says it all")]

mod admit;
mod batcher;
mod checkpoints;
mod claim;
mod claim_named;
mod complete;
mod deletion;
pub mod effects;
pub mod history;
mod items;
mod memories;
pub mod operator;
mod read_job;
mod renew;
mod repair;
pub mod row;
mod run_input;
mod shards;
mod users;

use std::sync::Arc;

use db::{Db, Hosts, RequestKey, Secrets, Shard, TurnLease};
use job::{Policy, Queue};
use outbox::Outbox;
use store::{Budgets, Store};

use crate::{
    admit::{
        FarFromLimit,
        finalize::{FinalizeRequest, Finalized},
    },
    batcher::Batcher,
    claim::{Quarantine, Turns},
};

pub use admit::{
    AdmitRefusal, Admitted, CreateOutcome, EndedBy, FinalizeOutcome, LiveAdmission, NewContent,
    NewConversation, ReprocessRefusal, WithKeys,
};
pub use checkpoints::{Spent, spent_by};
pub use claim::{ClaimRequest, JobClaims};
pub use claim_named::{Delivered, NamedClaim};
pub use complete::{Completion, Finished, NewItem, NewMemory, Results};
pub use effects::{Answer, Transition};
pub use history::Event;
pub use items::{ItemChange, NewActionItem};
pub use job::CheckpointKey;
pub use memories::{MemoryChange, NewPersonMemory};
pub use operator::{JobView, Operation, OperatorAction};
pub use read_job::Poll;
pub use renew::Renewal;
pub use row::{LeaseToken, StoredJob};
pub use run_input::{RecentItem, RunInput};
pub use shards::Shards;

/// How a process talks to its database.
#[derive(Clone)]
pub struct Settings {
    /// Connections for everything but renewals.
    pub connections: u32,
    pub policy: Policy,
    /// The limits of users without their own.
    pub budgets: Budgets,
    /// Where the jobs of live conversations wait: in the mode `inline` there is no queue `finalization`.
    pub live_queue: Queue,
    pub secrets: Secrets,
    pub shard: Shard,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            connections: 10,
            policy: Policy::default(),
            budgets: Budgets::default(),
            live_queue: Queue::Finalization,
            secrets: Secrets::default(),
            shard: Shard::default(),
        }
    }
}

/// The ledger of one process, with the store and the outbox on which it is built. Cheap to clone.
#[derive(Clone)]
pub struct Ledger {
    db: Db,
    store: Store,
    outbox: Outbox,
    policy: Policy,
    budgets: Budgets,
    live_queue: Queue,
    quarantine: Quarantine,
    turns: Turns,
    far_from_limit: FarFromLimit,
    admissions: Batcher<Arc<FinalizeRequest>, Finalized>,
    completions: Batcher<Arc<Completion>, Finished>,
}

impl Ledger {
    /// Makes the pools without connecting yet: a database that is down at start is a matter of readiness,
    /// not of start-up.
    pub fn new(hosts: impl Into<Hosts>, settings: Settings) -> Self {
        let db = Db::new(hosts, settings.connections, settings.secrets, settings.shard);
        Self {
            store: Store::new(db.clone(), settings.budgets),
            outbox: Outbox::new(db.clone()),
            db,
            policy: settings.policy,
            budgets: settings.budgets,
            live_queue: settings.live_queue,
            quarantine: Quarantine::default(),
            turns: Turns::default(),
            far_from_limit: FarFromLimit::default(),
            admissions: Batcher::new(),
            completions: Batcher::new(),
        }
    }

    /// A handle whose next creating operation notes, in its own transaction, that this request made what it makes.
    #[must_use]
    pub fn under_key(&self, key: RequestKey) -> Self {
        self.over(self.db.under_key(key))
    }

    /// A handle whose operations change something only while the assistant's `turn` is this process's, decided in the transaction
    /// that changes it ([`Db::in_turn`]).
    #[must_use]
    pub fn in_turn(&self, turn: TurnLease) -> Self {
        self.over(self.db.in_turn(turn))
    }

    fn over(&self, db: Db) -> Self {
        Self {
            store: Store::new(db.clone(), self.budgets),
            outbox: Outbox::new(db.clone()),
            db,
            ..self.clone()
        }
    }

    pub fn db(&self) -> &Db {
        &self.db
    }

    pub fn store(&self) -> &Store {
        &self.store
    }

    pub fn outbox(&self) -> &Outbox {
        &self.outbox
    }

    pub fn policy(&self) -> &Policy {
        &self.policy
    }
}

//! A run's checkpoints, kept in the ledger under the fence of its lease.

use std::sync::Arc;

use futures::future::BoxFuture;
use job::FailureCode;
use ledger::{CheckpointKey, Holding, Ledger};
use serde_json::Value;
use stages::{CheckpointStore, Engines, Interrupted, StepKey};
use tokio_util::sync::CancellationToken;

use crate::answered::{Unanswered, until_answered};
use crate::chance::Chance;
use crate::spending::Account;

/// The checkpoints of one run.
pub(crate) struct Checkpoints {
    pub(crate) ledger: Ledger,
    pub(crate) holding: Holding,
    /// What the run spends is written with what it records.
    pub(crate) account: Arc<Account>,
    pub(crate) engines: Engines,
    pub(crate) chance: Chance,
    pub(crate) soft: CancellationToken,
    pub(crate) hard: CancellationToken,
}

impl CheckpointStore for Checkpoints {
    fn recall<'a>(&'a self, key: &'a StepKey) -> BoxFuture<'a, Result<Option<Value>, Interrupted>> {
        let key = checkpoint(key);
        Box::pin(async move {
            let verb = || self.ledger.db().in_time(self.ledger.recall(&self.holding, &key));
            until_answered(&self.chance, &self.hard, verb).await.map_err(interrupted)
        })
    }

    fn record<'a>(&'a self, key: &'a StepKey, output: Value) -> BoxFuture<'a, Result<(), Interrupted>> {
        let key = checkpoint(key);
        Box::pin(async move {
            let due = self.account.statement(&self.engines);
            let verb =
                || self.ledger.db().in_time(self.ledger.record(&self.holding, &key, &output, &due.spent));
            let written = fenced(until_answered(&self.chance, &self.hard, verb).await);
            written.inspect(|()| self.account.saved(&due))
        })
    }

    fn record_anew<'a>(&'a self, key: &'a StepKey, output: Value) -> BoxFuture<'a, Result<(), Interrupted>> {
        let key = checkpoint(key);
        Box::pin(async move {
            let due = self.account.statement(&self.engines);
            let verb = || {
                self.ledger.db().in_time(self.ledger.record_anew(&self.holding, &key, &output, &due.spent))
            };
            let written = fenced(until_answered(&self.chance, &self.hard, verb).await);
            written.inspect(|()| self.account.saved(&due))
        })
    }

    fn should_stop(&self) -> bool {
        self.soft.is_cancelled() || self.hard.is_cancelled()
    }
}

fn checkpoint(key: &StepKey) -> CheckpointKey {
    CheckpointKey { stage: key.stage, version: key.version, digest: key.digest }
}

fn fenced(written: Result<bool, Unanswered>) -> Result<(), Interrupted> {
    match written {
        Ok(true) => Ok(()),
        Ok(false) => Err(Interrupted::LeaseLost),
        Err(unanswered) => Err(interrupted(unanswered)),
    }
}

fn interrupted(unanswered: Unanswered) -> Interrupted {
    match unanswered {
        Unanswered::Stopped => Interrupted::Stopping,
        Unanswered::Broken => FailureCode::Internal.into(),
    }
}

//! A run's checkpoints, kept in the ledger under the fence of its lease.

use std::sync::Arc;

use futures::future::BoxFuture;
use job::FailureCode;
use ledger::{CheckpointKey, LeaseToken};
use serde_json::Value;
use stages::{CheckpointStore, Engines, Interrupted, StepKey};

use crate::retry::Unanswered;
use crate::shared::Shared;
use crate::spending::Account;

/// The checkpoints of one run.
pub(crate) struct Checkpoints {
    pub(crate) shared: Shared,
    pub(crate) token: LeaseToken,
    /// What the run spends is written with what it records.
    pub(crate) account: Arc<Account>,
    pub(crate) engines: Engines,
}

impl CheckpointStore for Checkpoints {
    fn recall<'a>(&'a self, key: &'a StepKey) -> BoxFuture<'a, Result<Option<Value>, Interrupted>> {
        let key = checkpoint(key);
        Box::pin(async move {
            let ledger = &self.shared.ledger;
            Ok(self.shared.with_retries(|| ledger.recall(&self.token, &key)).await?)
        })
    }

    fn record<'a>(
        &'a self,
        key: &'a StepKey,
        output: Value,
        replaces: bool,
    ) -> BoxFuture<'a, Result<(), Interrupted>> {
        let key = checkpoint(key);
        Box::pin(async move {
            let (ledger, due) = (&self.shared.ledger, self.account.statement(&self.engines));
            let is_ours = self
                .shared
                .with_retries(|| ledger.record(&self.token, &key, &output, replaces, &due.spent))
                .await?;
            if !is_ours {
                return Err(Interrupted::LeaseLost);
            }
            self.account.saved(&due);
            Ok(())
        })
    }

    fn should_stop(&self) -> bool {
        self.shared.is_stopping()
    }
}

fn checkpoint(key: &StepKey) -> CheckpointKey {
    CheckpointKey { stage: key.stage, version: key.version, digest: key.digest }
}

impl From<Unanswered> for Interrupted {
    fn from(unanswered: Unanswered) -> Self {
        match unanswered {
            Unanswered::Stopped => Self::Stopping,
            Unanswered::Broken => FailureCode::Internal.into(),
        }
    }
}

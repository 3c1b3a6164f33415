//! Live conversations that no living session will end: their process died, was frozen past their timeout, or their client
//! went away. In every dispatch mode, by every process that watches leases.

use std::time::Duration;

use db::Error;
use ledger::{EndedBy, Ledger, LiveAdmission};
use store::LIVE_GRACE;
use tokio_util::sync::CancellationToken;

use crate::{
    Metrics,
    plan::{Action, wait_before_round},
};

/// Conversations a page: a bounded, indexed one.
const PAGE: i64 = 100;

/// Looks every 15 s (jitter out of `seed`) at the live conversations whose time is over, and ends each in a transaction
/// of its own, until `stop`. Two processes that look at once end each once.
pub async fn watch_live(ledger: Ledger, seed: u64, metrics: Metrics, stop: CancellationToken) {
    for number in 0.. {
        if tokio::time::timeout(wait_before_round(seed, number), stop.cancelled()).await.is_ok() {
            return;
        }
        if let Err(error) = end_due(&ledger, LIVE_GRACE, &metrics, &stop).await {
            tracing::warn!(%error, "live conversations that are due were not ended");
        }
    }
}

/// Ends what has been due for `grace`, page by page until none is left. One that cannot be ended is left to the next
/// round, and the others go on.
///
/// # Errors
/// When a page cannot be read, or the database does not answer twice in a row.
pub async fn end_due(
    ledger: &Ledger,
    grace: Duration,
    metrics: &Metrics,
    stop: &CancellationToken,
) -> Result<(), Error> {
    let mut after = None;
    let mut failed = false;
    loop {
        let page = ledger.db().in_time(ledger.store().due_live(grace, after.as_ref(), PAGE)).await?;
        for (user, conversation) in &page.found {
            if stop.is_cancelled() {
                return Ok(());
            }
            let by = EndedBy::Reconciler { grace };
            match ledger.db().in_time(ledger.admit_live(user, conversation, by, None)).await {
                Ok(ended) => {
                    failed = false;
                    metrics.count(Action::Admitted, u64::from(matches!(ended, LiveAdmission::Admitted(_))));
                }
                Err(error) if failed && error.is_passing() => return Err(error),
                Err(error) => {
                    failed = error.is_passing();
                    let conversation_id = conversation.as_str();
                    tracing::warn!(conversation_id, %error, "a live conversation could not be ended");
                }
            }
        }
        after = page.next;
        if after.is_none() {
            return Ok(());
        }
    }
}

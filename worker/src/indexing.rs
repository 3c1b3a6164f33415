//! Search: completed conversations are indexed behind their completion, by whichever worker looks first. The same look
//! indexes what was completed before there was an index.

use std::time::Duration;

use ledger::Ledger;
use tokio_util::sync::CancellationToken;

/// Conversations of one transaction.
const BATCH: i64 = 16;
/// Between two looks that found nothing: what was completed is searchable that much later.
const REST: Duration = Duration::from_secs(1);
/// After a look that failed.
const AFTER_FAILURE: Duration = Duration::from_secs(5);

/// Indexes what there is, until `stop`.
pub async fn index_conversations(ledger: Ledger, stop: CancellationToken) {
    let mut batch = BATCH;
    while !stop.is_cancelled() {
        let done = ledger.db().in_time(ledger.store().index_conversations(batch)).await;
        // What takes too long together is tried one by one.
        batch = if done.is_ok() { BATCH } else { 1 };
        let rest = match done {
            // Others have their turn between two batches of a backfill.
            Ok(1..) => Duration::from_millis(5),
            Ok(0) => REST,
            Err(error) => {
                tracing::warn!(%error, "conversations were not indexed");
                AFTER_FAILURE
            }
        };
        if tokio::time::timeout(rest, stop.cancelled()).await.is_ok() {
            return;
        }
    }
}

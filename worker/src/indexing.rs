//! Search: completed conversations are indexed behind their completion, memories and action items behind their writing, by whichever
//! worker looks first. The same look indexes what was there before there was an index.

use std::time::Duration;

use ledger::Ledger;
use tokio_util::sync::CancellationToken;

/// Conversations of one transaction.
const BATCH: i64 = 16;
/// Memories of one transaction, and action items: each is one short text.
const THINGS: i64 = 200;
/// Between two looks that found nothing: what was completed is searchable that much later.
const REST: Duration = Duration::from_secs(1);
/// After a look that failed.
const AFTER_FAILURE: Duration = Duration::from_secs(5);

/// Indexes what there is, until `stop`.
pub async fn index(ledger: Ledger, stop: CancellationToken) {
    let mut batch = (BATCH, THINGS);
    while !stop.is_cancelled() {
        let done = index_some(&ledger, batch).await;
        // What takes too long together is tried one by one.
        batch = if done.is_ok() { (BATCH, THINGS) } else { (1, 1) };
        let rest = match done {
            // Others have their turn between two batches of a backfill.
            Ok(1..) => Duration::from_millis(5),
            Ok(0) => REST,
            Err(error) => {
                tracing::warn!(%error, "what was said was not indexed");
                AFTER_FAILURE
            }
        };
        if tokio::time::timeout(rest, stop.cancelled()).await.is_ok() {
            return;
        }
    }
}

async fn index_some(ledger: &Ledger, (conversations, things): (i64, i64)) -> Result<usize, db::Error> {
    let conversations = ledger.db().in_time(ledger.store().index_conversations(conversations)).await?;
    let things = ledger.db().in_time(ledger.store().index_things(things)).await?;
    Ok(conversations + things)
}

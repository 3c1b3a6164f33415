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

/// Indexes what there is, until `stop`. Where conversations cannot be indexed, memories and action items are all the same.
pub async fn index(ledger: Ledger, stop: CancellationToken) {
    let ledger = &ledger;
    let conversations = move |limit| ledger.db().in_time(ledger.store().index_conversations(limit));
    let things = move |limit| ledger.db().in_time(ledger.store().index_things(limit));
    let (conversations, things) = (keep_up(BATCH, conversations, &stop), keep_up(THINGS, things, &stop));
    tokio::join!(conversations, things);
}

async fn keep_up<F>(batch: i64, index: impl Fn(i64) -> F, stop: &CancellationToken)
where
    F: Future<Output = Result<usize, db::Error>>,
{
    let mut limit = batch;
    while !stop.is_cancelled() {
        let done = index(limit).await;
        // What takes too long together is tried one by one.
        limit = if done.is_ok() { batch } else { 1 };
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

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

/// Indexes what there is, and forgets words by the rules of another language or with names of before, until `stop`. Of these three, what cannot be done keeps
/// none of the others from it.
pub async fn index(ledger: Ledger, stop: CancellationToken) {
    let ledger = &ledger;
    let conversations =
        move |limit, passed_over| ledger.db().in_time(ledger.store().index_conversations(limit, passed_over));
    let things =
        move |limit, passed_over| ledger.db().in_time(ledger.store().index_things(limit, passed_over));
    let forgotten =
        move |limit, passed_over| ledger.db().in_time(ledger.store().forget_more(limit, passed_over));
    tokio::join!(
        keep_up(BATCH, conversations, &stop),
        keep_up(THINGS, things, &stop),
        keep_up(THINGS, forgotten, &stop)
    );
}

/// `index` is asked for so many, behind so many.
async fn keep_up<F>(batch: i64, index: impl Fn(i64, i64) -> F, stop: &CancellationToken)
where
    F: Future<Output = Result<usize, db::Error>>,
{
    let (mut one_by_one, mut passed_over) = (0_i64, 0_i64);
    while !stop.is_cancelled() {
        let limit = if one_by_one > 0 { 1 } else { batch };
        let done = index(limit, passed_over).await;
        match &done {
            Ok(0) => passed_over = 0,
            Ok(_) => one_by_one = (one_by_one - 1).max(0),
            Err(_) => {
                // What takes too long together is tried one by one. What fails alone keeps none behind it from being indexed; it is
                // tried again when they are.
                passed_over += i64::from(limit == 1);
                one_by_one = batch;
            }
        }
        let rest = match done {
            // Others have their turn between two batches of a backfill.
            Ok(1..) => Duration::from_millis(5),
            Ok(0) => REST,
            Err(error) => {
                tracing::warn!(%error, "words were not indexed, or not forgotten");
                AFTER_FAILURE
            }
        };
        if tokio::time::timeout(rest, stop.cancelled()).await.is_ok() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{cell::Cell, future::ready};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn conversation_that_cannot_be_indexed_holds_up_none_behind_it_and_is_tried_again() {
        let (tried, indexed) = (Cell::new(0), Cell::new(0));
        // The first cannot be, and two wait behind it.
        let index = |_: i64, passed_over: i64| {
            ready(match (passed_over, indexed.get()) {
                (0, _) => {
                    tried.set(tried.get() + 1);
                    Err(db::Error::Contended { doing: "indexing" })
                }
                (_, 0 | 1) => {
                    indexed.set(indexed.get() + 1);
                    Ok(1)
                }
                _ => Ok(0),
            })
        };
        let stop = CancellationToken::new();
        let ended = tokio::time::timeout(Duration::from_secs(60), keep_up(BATCH, index, &stop)).await;
        assert!(ended.is_err(), "it goes on");
        assert_eq!(indexed.get(), 2);
        assert!(tried.get() > 2, "tried {} times", tried.get());
    }
}

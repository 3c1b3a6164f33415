//! The watches, in every dispatch mode. How soon a dead worker's job goes on (docs/RELIABILITY.md) rests on the lease watch
//! (DESIGN §3). The other ends live conversations that no living session will end: their process died, was frozen past their
//! timeout, or their client went away.

use std::time::Duration;

use db::Error;
use ledger::{EndedBy, Ledger, LiveAdmission};
use store::LIVE_GRACE;
use tokio_util::sync::CancellationToken;

use crate::{
    Metrics,
    plan::{Action, wait_before_look},
    repair::Repairs,
};

/// Rows a page: a bounded, indexed one. A look reads pages until none is left.
const PAGE: i64 = 100;

/// Seconds between two looks at leases, and at live conversations.
const LEASES: u64 = 5;
const ENDING: u64 = 15;

/// Looks every five seconds (jitter out of `seed`) at the leases that ran out, and says `Reconcile` to each,
/// until `stop`. At its start and after a database error it waits one `heartbeat` more, so that living
/// holders, who could not renew either, renew first.
pub async fn watch_leases(
    ledger: Ledger,
    heartbeat: Duration,
    seed: u64,
    metrics: Metrics,
    stop: CancellationToken,
) {
    repeat(|| look(&ledger, &metrics, &stop), heartbeat, seed, &stop).await;
}

/// Repeats `look` until `stop`, with the waits that [`watch_leases`] promises.
async fn repeat<L>(mut look: impl FnMut() -> L, heartbeat: Duration, seed: u64, stop: &CancellationToken)
where
    L: Future<Output = Result<Calm, Error>>,
{
    let mut wait = heartbeat;
    for number in 0.. {
        if tokio::time::timeout(wait, stop.cancelled()).await.is_ok() {
            return;
        }
        wait = match look().await {
            Ok(Calm(true)) => wait_before_look(LEASES, seed, number),
            Ok(Calm(false)) => heartbeat,
            Err(error) => {
                tracing::warn!(%error, "the lease watch could not look");
                heartbeat
            }
        };
    }
}

/// Whether the database answered every question of a look.
struct Calm(bool);

async fn look(ledger: &Ledger, metrics: &Metrics, stop: &CancellationToken) -> Result<Calm, Error> {
    let mut repairs = Repairs::new(ledger, metrics);
    let mut after = None;
    loop {
        let page = ledger.db().in_time(ledger.expired_leases(after.as_ref(), PAGE)).await?;
        for (user, job) in &page.found {
            if stop.is_cancelled() {
                return Ok(Calm(true));
            }
            repairs.repair(user, job, ledger.db().in_time(ledger.reconcile(job))).await?;
        }
        after = page.next;
        if after.is_none() {
            return Ok(Calm(!repairs.met_trouble()));
        }
    }
}

/// Looks every 15 s (jitter out of `seed`) at the live conversations whose time is over, and ends each in a transaction
/// of its own, until `stop`. Two processes that look at once end each once.
pub async fn watch_live(ledger: Ledger, seed: u64, metrics: Metrics, stop: CancellationToken) {
    let mut watch = LiveWatch::default();
    for number in 0.. {
        if tokio::time::timeout(wait_before_look(ENDING, seed, number), stop.cancelled()).await.is_ok() {
            return;
        }
        if let Err(error) = watch.look(&ledger, &metrics, &stop).await {
            tracing::warn!(%error, "live conversations that are due were not ended");
        }
    }
}

/// Looks at live conversations, one after the other.
#[derive(Debug, Default)]
pub struct LiveWatch {
    failed: bool,
}

impl LiveWatch {
    /// Ends what is due. Sessions that live could not renew while the database was away either: the first look that it answers
    /// ends nothing, and leaves them the time until the next.
    ///
    /// # Errors
    /// Those of [`end_due`].
    pub async fn look(
        &mut self,
        ledger: &Ledger,
        metrics: &Metrics,
        stop: &CancellationToken,
    ) -> Result<(), Error> {
        let looked = match self.failed {
            true => ledger.db().in_time(ledger.db().now()).await.map(drop),
            false => end_due(ledger, LIVE_GRACE, metrics, stop).await,
        };
        self.failed = looked.is_err();
        looked
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
                Err(error) => {
                    // Rows that are locked, a user's above all, stop no other.
                    let is_away = error.is_passing() && !error.is_of_one_row();
                    if is_away && failed {
                        return Err(error);
                    }
                    failed = is_away;
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

#[cfg(test)]
mod tests {
    use std::future::ready;

    use tokio::time::Instant;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn watch_waits_for_a_heartbeat_at_start_and_after_every_error() {
        let (began, stop) = (Instant::now(), CancellationToken::new());
        let mut waited = Vec::new();
        let mut asked = began;
        let look = || {
            waited.push(asked.elapsed());
            asked = Instant::now();
            ready(match waited.len() {
                1 => Ok(Calm(false)),
                2 => Err(Error::Contended { doing: "looking" }),
                3 => Ok(Calm(true)),
                _ => {
                    stop.cancel();
                    Ok(Calm(true))
                }
            })
        };
        let heartbeat = Duration::from_secs(30);
        repeat(look, heartbeat, 7, &stop).await;
        // At the start, after trouble, after an error, and after a look that found the database calm.
        assert_eq!(waited, [heartbeat, heartbeat, heartbeat, wait_before_look(LEASES, 7, 2)]);
    }
}

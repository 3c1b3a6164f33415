//! The lease watch: how soon a dead worker's job goes on (docs/RELIABILITY.md) rests on it, in every dispatch mode
//! (DESIGN §3).

use std::time::Duration;

use db::Error;
use ledger::Ledger;
use tokio_util::sync::CancellationToken;

use crate::{Metrics, plan::wait_before_look, repair::Repairs};

/// Leases a page. A look reads pages until no expired lease is left.
const PAGE: i64 = 100;

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
            Ok(Calm(true)) => wait_before_look(seed, number),
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
            repairs.repair(user, job).await?;
        }
        after = page.next;
        if after.is_none() {
            return Ok(Calm(!repairs.met_trouble()));
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
        assert_eq!(waited, [heartbeat, heartbeat, heartbeat, wait_before_look(7, 2)]);
    }
}

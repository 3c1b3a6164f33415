//! The heartbeat: renews all leases of a worker in one statement, for as long as its runs go on.

use std::time::Duration;

use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::retry::BackOff;
use crate::shared::Shared;

impl Shared {
    /// Renews the leases until `work` is done, or a hard stop.
    pub(crate) async fn renew_during(&self, work: impl Future<Output = ()>) {
        tokio::select! {
            () = work => {}
            () = beat(self) => {}
            () = self.hard.cancelled() => {}
        }
    }

    /// Renews the leases of runs that `tracker` holds. After `soft` these end at their next checkpoint and are waited for;
    /// after `hard` they are not.
    pub(crate) async fn renew_for(
        &self,
        tracker: &TaskTracker,
        soft: CancellationToken,
        hard: CancellationToken,
    ) {
        let drained = async {
            soft.cancelled().await;
            self.soft.cancel();
            tracker.close();
            tracker.wait().await;
        };
        hard.run_until_cancelled(self.renew_during(drained)).await;
        self.soft.cancel();
        self.hard.cancel();
    }
}

/// Renews all leases with every heartbeat, for ever. After a database error it asks again sooner: what is left of
/// the leases is the time in which it must get through.
async fn beat(shared: &Shared) {
    let (registry, every) = (&shared.leases, shared.settings.heartbeat);
    let mut back_off = BackOff::new(&shared.chance);
    let mut next = Instant::now() + every;
    loop {
        sleep_until(next).await;
        let asked_at = Instant::now();
        // The runtime's threads were busy with something else.
        shared.metrics.heartbeat_late(asked_at - next);
        let present = registry.present();
        let renewed = shared.ledger.db().in_time(shared.ledger.renew(&present)).await;
        match &renewed {
            Ok(renewals) => registry.notify(&present, renewals),
            Err(error) => {
                tracing::warn!(%error, leases = present.len(), "leases could not be renewed");
                registry.notify_unanswered();
            }
        }
        next = next_try(renewed.is_ok(), asked_at, every, &mut back_off);
    }
}

/// When leases are renewed next: on the beat behind an answer, and sooner without one.
fn next_try(answered: bool, asked_at: Instant, every: Duration, back_off: &mut BackOff) -> Instant {
    if answered {
        back_off.reset();
        return asked_at + every;
    }
    Instant::now() + back_off.wait().min(every)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

    use futures::FutureExt;
    use ledger::Ledger;
    use prometheus::Registry;

    use super::*;
    use crate::chance::Chance;
    use crate::settings::Settings;

    #[tokio::test(start_paused = true)]
    async fn heartbeat_retries_failed_renewals_before_the_next_beat() {
        let (now, every) = (Instant::now(), Duration::from_secs(2));
        let mut back_off = BackOff::new(&Chance::new(3));
        let mut after_error = || next_try(false, now, every, &mut back_off) - now;
        assert!(after_error() <= Duration::from_millis(120));
        assert!((0..20).all(|_| after_error() <= every), "and never later than it");
        assert_eq!(next_try(true, now, every, &mut back_off), now + every);
        let mut after_error = || next_try(false, now, every, &mut back_off) - now;
        assert!(after_error() <= Duration::from_millis(120), "a database that answered has a new start");
    }

    #[tokio::test(start_paused = true)]
    async fn heartbeat_lateness_is_measured() {
        let registry = Registry::new();
        let ledger = Ledger::new(db::Hosts::default(), ledger::Settings::default());
        let settings = Settings { heartbeat: Duration::from_secs(2), ..Settings::default() };
        let shared = Shared::of(ledger, &registry, settings);
        let beating = beat(&shared);
        tokio::pin!(beating);
        assert!((&mut beating).now_or_never().is_none());
        // The runtime's only thread is busy for seven seconds.
        tokio::time::advance(Duration::from_secs(7)).await;
        assert!((&mut beating).now_or_never().is_none());
        let late =
            registry.gather().into_iter().find(|family| family.name() == "listen_heartbeat_late_seconds");
        let late = late.unwrap();
        let histogram = late.get_metric()[0].get_histogram();
        assert_eq!((histogram.get_sample_count(), histogram.get_sample_sum()), (1, 5.0));
    }
}

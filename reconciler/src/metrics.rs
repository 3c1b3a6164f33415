//! What this room counts.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use ledger::Answer;
use parking_lot::Mutex;
use prometheus::{Error, Gauge, IntCounter, IntCounterVec, Opts, Registry};
use records::Timestamp;

use crate::plan::Action;

/// The reconciler's metrics, registered once per process. Cheap to clone.
#[derive(Clone)]
pub struct Metrics {
    last_success: Gauge,
    /// The last good round of each shard: the gauge is the oldest of them.
    rounds: Arc<Mutex<BTreeMap<u16, f64>>>,
    interval: Gauge,
    actions: IntCounterVec,
    retries: IntCounter,
    dead_letters: IntCounter,
}

impl Metrics {
    /// Registers the metrics with every action at zero. `retries` and `dead_letters` are the counters of runs that led to
    /// another one and of jobs that were given up: every transition raises the same ones, those of workers too.
    pub fn new(registry: &Registry, retries: IntCounter, dead_letters: IntCounter) -> Result<Self, Error> {
        let last_success = Gauge::new(
            "listen_reconciler_last_success_timestamp_seconds",
            "When this process last finished a round without an error, by the database's clock; 0 before the first. Of \
             several shards, the one where that is longest ago.",
        )?;
        let interval = Gauge::new(
            "listen_reconciler_interval_seconds",
            "How long this process's schedule leaves between two rounds at most; 0 without one.",
        )?;
        let actions = IntCounterVec::new(
            Opts::new("listen_reconciler_actions_total", "What reconciler and lease watch did to rows."),
            &["action"],
        )?;
        registry.register(Box::new(last_success.clone()))?;
        registry.register(Box::new(interval.clone()))?;
        registry.register(Box::new(actions.clone()))?;
        for action in Action::ALL {
            actions.with_label_values(&[action.as_str()]);
        }
        Ok(Self { last_success, rounds: Arc::default(), interval, actions, retries, dead_letters })
    }

    /// Rounds of that shard will be made: until the first is, the gauge is 0.
    pub(crate) fn scheduled(&self, shard: u16, every: Duration) {
        self.interval.set(every.as_secs_f64());
        self.round_ended(shard, 0.0);
    }

    pub(crate) fn count(&self, action: Action, rows: u64) {
        self.actions.with_label_values(&[action.as_str()]).inc_by(rows);
    }

    pub(crate) fn count_answer(&self, answer: &Answer) {
        self.count(Action::of(answer), 1);
        if let Answer::Granted { retry, dead_letter, .. } = answer {
            self.retries.inc_by((*retry).into());
            self.dead_letters.inc_by((*dead_letter).into());
        }
    }

    pub(crate) fn succeeded(&self, shard: u16, at: Timestamp) {
        self.round_ended(shard, at.timestamp_micros() as f64 / 1e6);
    }

    fn round_ended(&self, shard: u16, at: f64) {
        let mut rounds = self.rounds.lock();
        rounds.insert(shard, at);
        self.last_success.set(rounds.values().copied().fold(f64::INFINITY, f64::min));
    }
}

#[cfg(test)]
impl Metrics {
    #[allow(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]
    pub(crate) fn uncounted() -> Self {
        let counter = |name| IntCounter::new(name, "help").unwrap();
        Self::new(&Registry::new(), counter("retries"), counter("dead_letters")).unwrap()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

    use super::*;

    #[test]
    fn metrics_show_the_oldest_repair_of_all_shards() {
        let metrics = Metrics::uncounted();
        let after = |shard, seconds| {
            metrics.succeeded(shard, Timestamp::from_timestamp(seconds, 0).unwrap());
            metrics.last_success.get()
        };
        for shard in 0..2 {
            metrics.scheduled(shard, Duration::from_secs(300));
        }
        assert_eq!(after(1, 600), 0.0, "no round of shard 0 yet");
        assert_eq!(after(0, 900), 600.0);
        assert_eq!(after(1, 1_200), 900.0);
    }
}

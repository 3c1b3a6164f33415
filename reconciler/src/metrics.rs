//! What this room counts.

use std::{sync::Arc, time::Duration};

use ledger::Answer;
use prometheus::{Error, Gauge, IntCounterVec, Opts, Registry};
use records::Timestamp;

use crate::plan::Action;

/// Counters that other crates raise too: every transition raises the same one, in every process.
pub trait Counts: Send + Sync {
    /// A crashed run leads to another one (`listen_finalization_retries_total`).
    fn retry(&self);
    /// A job was given up (`listen_finalization_dead_letter_total`).
    fn dead_letter(&self);
}

/// The reconciler's metrics, registered once per process. Cheap to clone.
#[derive(Clone)]
pub struct Metrics {
    last_success: Gauge,
    interval: Gauge,
    actions: IntCounterVec,
    counts: Arc<dyn Counts>,
}

impl Metrics {
    /// Registers the metrics with every action at zero.
    ///
    /// # Errors
    /// When one of the names is registered already.
    pub fn new(registry: &Registry, counts: Arc<dyn Counts>) -> Result<Self, Error> {
        let last_success = Gauge::new(
            "listen_reconciler_last_success_timestamp_seconds",
            "When this process last finished a round without an error, by the database's clock; 0 before the first.",
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
        Ok(Self { last_success, interval, actions, counts })
    }

    pub(crate) fn scheduled(&self, every: Duration) {
        self.interval.set(every.as_secs_f64());
    }

    pub(crate) fn count(&self, action: Action, rows: u64) {
        self.actions.with_label_values(&[action.as_str()]).inc_by(rows);
    }

    pub(crate) fn count_answer(&self, answer: &Answer) {
        self.count(Action::of(answer), 1);
        if let Answer::Granted { retry, dead_letter, .. } = answer {
            if *retry {
                self.counts.retry();
            }
            if *dead_letter {
                self.counts.dead_letter();
            }
        }
    }

    pub(crate) fn succeeded(&self, at: Timestamp) {
        self.last_success.set(at.timestamp_micros() as f64 / 1e6);
    }
}

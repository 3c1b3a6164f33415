//! What this crate counts. Every series is there from the start, at zero.

use std::{collections::BTreeMap, sync::Arc};

use parking_lot::Mutex;
use prometheus::{Error, Gauge, IntCounter, IntCounterVec, Opts, Registry};

use crate::refusal::Refusal;

/// How a try to create a task can end.
pub const CREATE_OUTCOMES: [&str; 9] = [
    "created",
    "exists",
    "rate_limited",
    "unavailable",
    "unreachable",
    "credentials",
    "unauthorized",
    "forbidden",
    "refused",
];

/// How fetching the verification keys can end.
pub const REFRESH_OUTCOMES: [&str; 4] = ["fetched", "unreachable", "refused", "unusable"];

/// The metrics of the task queue, registered once per process. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Metrics {
    created: IntCounterVec,
    enqueue_failed: IntCounter,
    oldest_unhanded: Gauge,
    /// The age in each shard: the gauge is the oldest of them.
    ages: Arc<Mutex<BTreeMap<u16, f64>>>,
    refreshes: IntCounterVec,
    refusals: IntCounterVec,
}

impl Metrics {
    /// Registers the metrics. `enqueue_failed` is `listen_fallback_total{component="pusher",reason="enqueue_failed"}`, which another
    /// crate has registered.
    ///
    /// # Errors
    /// When one of the names is registered already.
    pub fn new(registry: &Registry, enqueue_failed: IntCounter) -> Result<Self, Error> {
        let labelled = |name: &str, help: &str, label: &str, values: &[&str]| {
            let counters = IntCounterVec::new(Opts::new(name, help), &[label])?;
            for value in values {
                counters.with_label_values(&[*value]).inc_by(0);
            }
            registry.register(Box::new(counters.clone()))?;
            Ok::<_, Error>(counters)
        };
        let oldest_unhanded = Gauge::new(
            "listen_tasks_oldest_unhanded_age_seconds",
            "Seconds that the oldest dispatch has waited for the task queue to take it; 0 in other dispatch modes.",
        )?;
        registry.register(Box::new(oldest_unhanded.clone()))?;
        Ok(Self {
            created: labelled(
                "listen_tasks_created_total",
                "Tries to create a task, by how they ended.",
                "outcome",
                &CREATE_OUTCOMES,
            )?,
            enqueue_failed,
            oldest_unhanded,
            ages: Arc::default(),
            refreshes: labelled(
                "listen_oidc_refreshes_total",
                "Fetches of the keys that verify deliveries, by how they ended.",
                "outcome",
                &REFRESH_OUTCOMES,
            )?,
            refusals: labelled(
                "listen_oidc_refusals_total",
                "Deliveries whose identity token was refused, by why.",
                "reason",
                &Refusal::ALL.iter().map(|refusal| refusal.as_str()).collect::<Vec<_>>(),
            )?,
        })
    }

    pub(crate) fn created(&self, outcome: &'static str) {
        self.created.with_label_values(&[outcome]).inc();
        if !matches!(outcome, "created" | "exists") {
            self.enqueue_failed.inc();
        }
    }

    pub(crate) fn oldest_unhanded(&self, shard: u16, seconds: f64) {
        let mut ages = self.ages.lock();
        ages.insert(shard, seconds);
        self.oldest_unhanded.set(ages.values().copied().fold(f64::NEG_INFINITY, f64::max));
    }

    pub(crate) fn refreshed(&self, outcome: &'static str) {
        self.refreshes.with_label_values(&[outcome]).inc();
    }

    pub(crate) fn refused(&self, reason: &'static str) {
        self.refusals.with_label_values(&[reason]).inc();
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

    use super::*;

    #[test]
    fn metrics_show_the_oldest_dispatch_of_all_shards() {
        let metrics = Metrics::new(&Registry::new(), IntCounter::new("failed", "help").unwrap()).unwrap();
        let after = |shard, seconds| {
            metrics.oldest_unhanded(shard, seconds);
            metrics.oldest_unhanded.get()
        };
        assert_eq!(after(0, 400.0), 400.0);
        assert_eq!(after(1, 2.0), 400.0);
        assert_eq!(after(0, 0.0), 2.0);
    }
}

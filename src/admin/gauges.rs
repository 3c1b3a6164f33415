//! The service's gauges: read from the database at scrape time, by every replica alike. A failed probe's
//! series are absent, never stale.

use std::time::Duration;

use ledger::{Gauges, Ledger};
use prometheus::{Gauge, GaugeVec, Opts, Registry, core::Collector, proto::MetricFamily};
use tokio::{sync::Mutex, time::Instant};

/// How long one read serves the scrapes of this process.
const FRESH: Duration = Duration::from_secs(2);
/// How long a scrape waits for the database.
const WAIT: Duration = Duration::from_secs(5);

/// Reads the gauges, at most once every two seconds, one read at a time.
pub(super) struct Service {
    ledger: Ledger,
    last: Mutex<Option<(Instant, Gauges)>>,
}

impl Service {
    pub(super) fn new(ledger: Ledger) -> Self {
        Self { ledger, last: Mutex::new(None) }
    }

    /// The families of one scrape, with `listen_collector_up` and `listen_build_info` always among them.
    pub(super) async fn gather(&self) -> Vec<MetricFamily> {
        let read = self.read().await;
        families(read.as_ref()).unwrap_or_else(|error| {
            tracing::error!(%error, "service gauges could not be built");
            Vec::new()
        })
    }

    async fn read(&self) -> Option<Gauges> {
        let mut last = self.last.lock().await;
        if let Some((at, gauges)) = last.as_ref()
            && at.elapsed() < FRESH
        {
            return Some(gauges.clone());
        }
        match tokio::time::timeout(WAIT, self.ledger.gauges()).await {
            Ok(Ok(gauges)) => {
                *last = Some((Instant::now(), gauges.clone()));
                Some(gauges)
            }
            failed => {
                tracing::warn!(timed_out = failed.is_err(), "the service's gauges could not be read");
                None
            }
        }
    }
}

fn families(gauges: Option<&Gauges>) -> Result<Vec<MetricFamily>, prometheus::Error> {
    let registry = Registry::new();
    let add = |name: &str, help: &str, value: f64| -> Result<(), prometheus::Error> {
        let gauge = Gauge::new(name, help)?;
        gauge.set(value);
        registry.register(Box::new(gauge))
    };
    let up = if gauges.is_some() { 1.0 } else { 0.0 };
    add(
        "listen_collector_up",
        "Whether the service's gauges could be read from the database (1) or not (0).",
        up,
    )?;
    if let Some(gauges) = gauges {
        add(
            "listen_finalization_oldest_nonterminal_age_seconds",
            "Age of the oldest job that is neither completed nor dead, counted from its last admission or replay.",
            gauges.oldest_nonterminal_age,
        )?;
        add(
            "listen_finalization_oldest_ready_age_seconds",
            "Age of the oldest queued job whose time has come; parked jobs do not count.",
            gauges.oldest_ready_age,
        )?;
        add(
            "listen_webhook_oldest_pending_age_seconds",
            "Seconds since the oldest event happened that an endpoint has not been told of.",
            gauges.oldest_pending_delivery_age,
        )?;
        add(
            "listen_finalization_orphans",
            "Live jobs that nobody will look at: always 0.",
            gauges.orphans as f64,
        )?;
        let jobs = GaugeVec::new(Opts::new("listen_finalization_jobs", "Jobs by status."), &["status"])?;
        for (status, count) in &gauges.jobs {
            jobs.with_label_values(&[status]).set(*count as f64);
        }
        registry.register(Box::new(jobs))?;
    }
    let build =
        GaugeVec::new(Opts::new("listen_build_info", "Always 1; the labels tell the build."), &["version"])?;
    build.with_label_values(&[env!("CARGO_PKG_VERSION")]).set(1.0);
    let mut families = registry.gather();
    families.extend(build.collect());
    Ok(families)
}

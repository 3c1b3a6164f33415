//! The service's gauges: read from the database at scrape time, by every replica alike. A failed probe's
//! series are absent, never stale.

use std::time::Duration;

use ledger::{Backlog, Gauges, Health, Ledger};
use prometheus::proto::MetricFamily;
use tokio::{sync::Mutex, time::Instant};

use super::families::families;

/// How long one read serves the scrapes of this process.
const FRESH: Duration = Duration::from_secs(2);
/// How long a scrape waits for the database.
const WAIT: Duration = Duration::from_secs(5);

/// What one read found. The server's own views are a probe of their own: a role that may not read them still
/// shows its jobs.
#[derive(Clone)]
pub(super) struct Reading {
    pub(super) gauges: Gauges,
    pub(super) backlog: Backlog,
    pub(super) health: Option<Health>,
    /// How long the read took.
    pub(super) took: Duration,
}

/// Reads the gauges, at most once every two seconds, one read at a time.
pub(super) struct Service {
    ledger: Ledger,
    last: Mutex<Option<(Instant, Reading)>>,
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

    async fn read(&self) -> Option<Reading> {
        let mut last = self.last.lock().await;
        if let Some((at, reading)) = last.as_ref()
            && at.elapsed() < FRESH
        {
            return Some(reading.clone());
        }
        match tokio::time::timeout(WAIT, self.look()).await {
            Ok(Ok(reading)) => {
                *last = Some((Instant::now(), reading.clone()));
                Some(reading)
            }
            failed => {
                tracing::warn!(timed_out = failed.is_err(), "the service's gauges could not be read");
                None
            }
        }
    }

    async fn look(&self) -> Result<Reading, ledger::Error> {
        let began = Instant::now();
        let gauges = self.ledger.gauges().await?;
        let backlog = self.ledger.backlog().await?;
        let health = self.ledger.health().await;
        if let Err(error) = &health {
            tracing::warn!(%error, "the database's health could not be read");
        }
        Ok(Reading { gauges, backlog, health: health.ok(), took: began.elapsed() })
    }
}

//! The service's gauges: read from the database at scrape time, by every replica alike. A failed probe's
//! series are absent, never stale.

use std::time::Duration;

use compute::Pool;
use futures::future::join_all;
use ledger::{Ledger, Shards};
use operations::Operations;
use prometheus::proto::MetricFamily;
use tokio::{sync::Mutex, time::Instant};

use super::families::{Process, Reading, families};

/// How long one read serves the scrapes of this process, also one that failed.
const FRESH: Duration = Duration::from_secs(2);
/// How long a scrape waits for the database.
const WAIT: Duration = Duration::from_secs(5);

/// Reads the gauges, at most once every two seconds, one read at a time: a scrape during a read waits for that one
/// and for no other.
pub(super) struct Service {
    shards: Shards,
    compute: Pool,
    /// When the last read ended, and what it found.
    last: Mutex<Option<(Instant, Found)>>,
}

/// What one read of all shards found.
#[derive(Clone, Default)]
struct Found {
    /// The sum over those that answered.
    sum: Option<Reading>,
    /// Which answered, by their numbers.
    up: Vec<bool>,
}

impl Service {
    pub(super) fn new(shards: impl Into<Shards>, compute: Pool) -> Self {
        Self { shards: shards.into(), compute, last: Mutex::new(None) }
    }

    /// The families of one scrape, with what the process knows by itself always among them.
    pub(super) async fn gather(&self) -> Vec<MetricFamily> {
        let found = self.read().await;
        let up = if self.shards.count() > 1 { found.up } else { Vec::new() };
        let process = Process { computing: self.compute.waiting(), up };
        families(found.sum.as_ref(), process).unwrap_or_else(|error| {
            tracing::error!(%error, "service gauges could not be built");
            Vec::new()
        })
    }

    async fn read(&self) -> Found {
        let mut last = self.last.lock().await;
        if let Some((at, found)) = last.as_ref()
            && at.elapsed() < FRESH
        {
            return found.clone();
        }
        let look = |ledger: &Ledger| {
            let ledger = ledger.clone();
            async move { ledger.db().within(WAIT, look(&ledger)).await }
        };
        let mut found = Found::default();
        for read in join_all(self.shards.iter().map(look)).await {
            let read = read
                .inspect_err(|error| tracing::warn!(%error, "the service's gauges could not be read"))
                .ok();
            found.up.push(read.is_some());
            found.add(read);
        }
        *last = Some((Instant::now(), found.clone()));
        found
    }
}

impl Found {
    fn add(&mut self, read: Option<Reading>) {
        match (&mut self.sum, read) {
            (Some(sum), Some(read)) => sum.add(read),
            (None, read) => self.sum = read,
            (Some(_), None) => {}
        }
    }
}

impl Reading {
    fn add(&mut self, other: Self) {
        self.gauges.add(&other.gauges);
        self.backlog.add(&other.backlog);
        self.servers.add(other.servers);
        self.lacks_health |= other.lacks_health;
        match (&mut self.health, other.health) {
            (Some(health), Some(other)) => health.add(&other),
            (health @ None, other) => *health = other,
            (Some(_), None) => {}
        }
        self.took = self.took.max(other.took);
    }
}

async fn look(ledger: &Ledger) -> Result<Reading, db::Error> {
    let (began, operations) = (Instant::now(), Operations::new(ledger));
    let gauges = operations.gauges().await?;
    let backlog = operations.backlog().await?;
    let servers = operations.model_servers().await?;
    let health = operations.health().await;
    if let Err(error) = &health {
        tracing::warn!(%error, "the database's health could not be read");
    }
    let lacks_health = health.is_err();
    Ok(Reading { gauges, backlog, servers, health: health.ok(), lacks_health, took: began.elapsed() })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

    use std::cell::Cell;

    use ledger::Settings;
    use sqlx::postgres::PgConnectOptions;
    use testbed::{TestDatabase, Wall};

    use super::*;

    /// A healthy machine needs a small part of it.
    const PATIENCE: Duration = Duration::from_secs(60);

    fn up(families: &[MetricFamily]) -> Option<f64> {
        let family = families.iter().find(|family| family.name() == "listen_collector_up")?;
        Some(family.get_metric().first()?.get_gauge().get_value())
    }

    #[test]
    fn scrape_reports_a_shard_whose_views_are_not_readable() {
        let reading = |lacks_health: bool| Reading {
            gauges: operations::Gauges::default(),
            backlog: operations::Backlog::default(),
            servers: operations::ModelServers::default(),
            health: (!lacks_health).then(operations::Health::default),
            lacks_health,
            took: Duration::ZERO,
        };
        let postgres_up = |shards: &[bool]| {
            let mut found = Found::default();
            shards.iter().for_each(|lacks| found.add(Some(reading(*lacks))));
            let process = Process { computing: 0, up: vec![true; shards.len()] };
            let families = families(found.sum.as_ref(), process).unwrap();
            let family = families.iter().find(|family| family.name() == "listen_postgres_up")?;
            Some(family.get_metric().first()?.get_gauge().get_value())
        };
        assert_eq!(postgres_up(&[false, false]), Some(1.0));
        assert_eq!((postgres_up(&[false, true]), postgres_up(&[true, false])), (Some(0.0), Some(0.0)));
    }

    #[tokio::test(start_paused = true)]
    async fn concurrent_scrapes_share_one_read_also_when_it_fails() {
        let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = silent.local_addr().unwrap().port();
        let away = PgConnectOptions::new_without_pgpass().host("127.0.0.1").port(port);
        let service = Service::new(Ledger::new(away, Settings::default()), Pool::new(1).unwrap());
        let began = Instant::now();
        let (one, other) = tokio::join!(service.gather(), service.gather());
        assert_eq!((up(&one), up(&other)), (Some(0.0), Some(0.0)));
        let read = began.elapsed();
        assert!(Duration::ZERO < read && read <= WAIT, "one read for both: {read:?}");
        service.gather().await;
        assert_eq!(began.elapsed(), read, "it was read a moment ago");
        tokio::time::advance(FRESH).await;
        service.gather().await;
        assert!(began.elapsed() > read + FRESH, "it may be back by now");
    }

    #[tokio::test]
    async fn scrape_is_answered_when_the_database_falls_silent() {
        let database = TestDatabase::new().await;
        let (wall, through) = Wall::between(&database.options());
        let service = Service::new(
            Ledger::new(through, Settings { connections: 1, ..Settings::default() }),
            Pool::new(1).unwrap(),
        );
        let held = database.hold_locks("lock table finalization_jobs in access exclusive mode").await;
        let is_silent = Cell::new(false);
        // The server itself ends what waits for a lock: then once more.
        let scrape = async {
            loop {
                let families = service.gather().await;
                if is_silent.get() {
                    break families;
                }
            }
        };
        let silence = async {
            database.until_somebody_waits().await;
            wall.silence_what_is_open();
            is_silent.set(true);
        };
        let (answered, ()) = tokio::join!(tokio::time::timeout(PATIENCE, scrape), silence);
        assert_eq!(up(&answered.unwrap()), Some(0.0));
        drop(held);
        let again = async { while up(&service.gather().await) != Some(1.0) {} };
        tokio::time::timeout(PATIENCE, again).await.unwrap();
    }
}

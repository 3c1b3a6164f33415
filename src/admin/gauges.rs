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
/// How long each of three statements may take that read the server's own views: all of them end before the wait is over, by which sessions
/// would be taken for dead.
const VIEW: &str = "1500ms";

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
    /// The sums over those that answered.
    sum: Reading,
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
        families(&found.sum, process).unwrap_or_else(|error| {
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
        let mut found = Found::default();
        for read in join_all(self.shards.iter().map(look)).await {
            found.up.push(read.is_whole);
            found.sum.add(read);
        }
        *last = Some((Instant::now(), found.clone()));
        found
    }
}

impl Reading {
    /// With what was read of another shard.
    fn add(&mut self, other: Self) {
        add(&mut self.gauges, other.gauges, |sum, other| sum.add(&other));
        add(&mut self.backlog, other.backlog, |sum, other| sum.add(&other));
        add(&mut self.servers, other.servers, |sum, other| sum.add(other));
        add(&mut self.health, other.health, |sum, other| sum.add(&other));
        self.is_whole |= other.is_whole;
        self.lacks_health |= other.lacks_health;
        self.took = self.took.max(other.took);
    }
}

fn add<T>(sum: &mut Option<T>, other: Option<T>, both: impl FnOnce(&mut T, T)) {
    match (sum, other) {
        (Some(sum), Some(other)) => both(sum, other),
        (sum @ None, other) => *sum = other,
        (Some(_), None) => {}
    }
}

/// Reads one shard, the ages of its jobs first: a slow database may not come to the rest. Its own views are read at the same time.
async fn look(ledger: &Ledger) -> Reading {
    let (began, operations, db) = (Instant::now(), Operations::new(ledger), ledger.db());
    let mut reading = Reading::default();
    let own = async {
        let left = || WAIT.saturating_sub(began.elapsed());
        reading.gauges = Some(db.within(left(), operations.gauges()).await?);
        reading.backlog = Some(db.within(left(), operations.backlog()).await?);
        reading.servers = Some(db.within(left(), operations.model_servers()).await?);
        Ok(())
    };
    let (own, health) = tokio::join!(own, db.within(WAIT, operations.health(VIEW)));
    match (&own, &health) {
        (Err::<_, db::Error>(error), _) => {
            tracing::warn!(%error, "the service's gauges could not be read, or not all of them");
        }
        (Ok(()), Err(error)) => tracing::warn!(%error, "the database's health could not be read"),
        (Ok(()), Ok(_)) => {}
    }
    let lacks_health = health.is_err() && reading.gauges.is_some();
    Reading { health: health.ok(), is_whole: own.is_ok(), lacks_health, took: began.elapsed(), ..reading }
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
        value(families, "listen_collector_up")
    }

    fn value(families: &[MetricFamily], name: &str) -> Option<f64> {
        let family = families.iter().find(|family| family.name() == name)?;
        Some(family.get_metric().first()?.get_gauge().get_value())
    }

    #[test]
    fn scrape_reports_a_shard_whose_views_are_not_readable() {
        let reading = |lacks_health: bool| Reading {
            health: (!lacks_health).then(operations::Health::default),
            lacks_health,
            ..Reading::default()
        };
        let postgres_up = |shards: &[bool]| {
            let mut sum = Reading::default();
            shards.iter().for_each(|lacks| sum.add(reading(*lacks)));
            let process = Process { computing: 0, up: vec![true; shards.len()] };
            value(&families(&sum, process).unwrap(), "listen_postgres_up")
        };
        assert_eq!(postgres_up(&[false, false]), Some(1.0));
        assert_eq!((postgres_up(&[false, true]), postgres_up(&[true, false])), (Some(0.0), Some(0.0)));
    }

    /// While one statement waited, all gauges were missing, the queue's age among them.
    #[tokio::test]
    async fn scrape_shows_the_age_of_the_queue_while_other_parts_cannot_be_read() {
        const AGE: &str = "listen_finalization_oldest_ready_age_seconds";
        let database = TestDatabase::new().await;
        // Locking the system view would also lock `pg_database`, and no other session of the server could connect.
        let view = "create schema simulated; create table simulated.pg_prepared_xacts as select * from pg_prepared_xacts";
        database.run(view).await;
        let options = database.options().options([("search_path", "simulated,pg_catalog,public")]);
        let service = Service::new(Ledger::new(options, Settings::default()), Pool::new(1).unwrap());
        let scrape = async || {
            *service.last.lock().await = None;
            service.gather().await
        };
        let backlog = database.hold_locks("lock table queue_pauses in access exclusive mode").await;
        let without = scrape().await;
        drop(backlog);
        assert!(
            value(&without, AGE).is_some() && value(&without, "listen_postgres_sessions_allowed").is_some()
        );
        assert_eq!((up(&without), value(&without, "listen_webhook_backlog")), (Some(0.0), None));
        let _views =
            database.hold_locks("lock table simulated.pg_prepared_xacts in access exclusive mode").await;
        let without = scrape().await;
        assert_eq!((up(&without), value(&without, "listen_postgres_up")), (Some(1.0), Some(0.0)));
        assert!(value(&without, AGE).is_some());
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

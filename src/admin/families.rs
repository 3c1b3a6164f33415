//! The names under which the service's gauges are shown.

use std::time::Duration;

use operations::{Backlog, Gauges, Health, ModelServers, ServerKind};
use prometheus::{CounterVec, Error, Gauge, GaugeVec, Opts, Registry, core::Collector, proto::MetricFamily};

use crate::model_servers::{Standing, Summary, summaries};

/// What one read found. Each part is a probe of its own: a role that may not read the server's own views still shows its jobs, and so
/// does a database that is slow with them.
#[derive(Clone, Default)]
pub(super) struct Reading {
    pub(super) gauges: Option<Gauges>,
    pub(super) backlog: Option<Backlog>,
    pub(super) servers: Option<ModelServers>,
    pub(super) health: Option<Health>,
    /// Whether all but the health was read of some shard.
    pub(super) is_whole: bool,
    /// Whether of some shard, of which something was read, the database's views were not.
    pub(super) lacks_health: bool,
    /// How long the read took.
    pub(super) took: Duration,
}

/// What a process knows by itself.
pub(super) struct Process {
    /// How many pieces of work wait for a thread.
    pub(super) computing: usize,
    /// Which shards answered, by their numbers; empty where there is one.
    pub(super) up: Vec<bool>,
}

/// The families of one scrape. What could not be read of the database is absent, beside what the process knows by itself.
pub(super) fn families(reading: &Reading, process: Process) -> Result<Vec<MetricFamily>, Error> {
    let scrape = Scrape { registry: Registry::new() };
    scrape.gauge(
        "listen_collector_up",
        "Whether the service's gauges could be read from the database (1) or not all of them (0).",
        truth(reading.is_whole),
    )?;
    scrape.gauge(
        "listen_compute_waiting",
        "Pieces of work that wait for one of this process's threads for what costs processor time.",
        process.computing as f64,
    )?;
    scrape.shards(&process.up)?;
    if let Some(gauges) = &reading.gauges {
        scrape.gauge(
            "listen_collector_duration_seconds",
            "How long reading the service's gauges took; one read serves the scrapes of two seconds.",
            reading.took.as_secs_f64(),
        )?;
        scrape.jobs(gauges)?;
    }
    if let Some(backlog) = &reading.backlog {
        scrape.backlog(backlog)?;
    }
    if let Some(servers) = &reading.servers {
        scrape.servers(servers)?;
    }
    if reading.health.is_some() || reading.lacks_health {
        scrape.gauge(
            "listen_postgres_up",
            "Whether the database's own views could be read (1) or not (0); of several shards, those of all that answer.",
            truth(!reading.lacks_health),
        )?;
    }
    if let Some(health) = &reading.health {
        scrape.database(health)?;
        scrape.tables(health)?;
    }
    let build =
        GaugeVec::new(Opts::new("listen_build_info", "Always 1; the labels tell the build."), &["version"])?;
    build.with_label_values(&[env!("CARGO_PKG_VERSION")]).set(1.0);
    let mut families = scrape.registry.gather();
    families.extend(build.collect());
    Ok(families)
}

/// The registry of one scrape: what is not read now is not in it.
struct Scrape {
    registry: Registry,
}

impl Scrape {
    fn shards(&self, up: &[bool]) -> Result<(), Error> {
        if up.is_empty() {
            return Ok(());
        }
        let help = "Whether a shard's gauges could be read (1) or not (0): the others' sums are without it.";
        let gauges = GaugeVec::new(Opts::new("listen_shard_up", help), &["shard"])?;
        for (number, up) in up.iter().enumerate() {
            gauges.with_label_values(&[&number.to_string()]).set(truth(*up));
        }
        self.registry.register(Box::new(gauges))
    }

    fn jobs(&self, gauges: &Gauges) -> Result<(), Error> {
        self.gauge(
            "listen_finalization_oldest_nonterminal_age_seconds",
            "Age of the oldest job that is neither completed nor dead, counted from its last admission or replay.",
            gauges.oldest_nonterminal_age,
        )?;
        self.gauge(
            "listen_finalization_oldest_unfinished_age_seconds",
            "Age of the oldest job that is queued or runs, whatever it waits for; parked jobs do not count.",
            gauges.oldest_unfinished_age,
        )?;
        self.gauge(
            "listen_finalization_oldest_ready_age_seconds",
            "Age of the oldest queued job whose time has come; parked jobs do not count.",
            gauges.oldest_ready_age,
        )?;
        self.gauge(
            "listen_webhook_oldest_pending_age_seconds",
            "Seconds since the oldest event happened that an endpoint has not received.",
            gauges.oldest_pending_delivery_age,
        )?;
        self.gauge(
            "listen_finalization_orphans",
            "Live jobs without an owner: always 0.",
            gauges.orphans as f64,
        )?;
        self.gauge(
            "listen_finalization_waiting_dead_letters",
            "Dead letters that wait for an operator: what was cancelled or dismissed does not.",
            gauges.waiting_dead_letters as f64,
        )?;
        self.gauges("listen_processes", "Processes that live, by role.", "role", &gauges.processes)?;
        self.gauges("listen_finalization_jobs", "Jobs by status.", "status", &gauges.jobs)
    }

    /// A kind of server that no process asks is not there.
    fn servers(&self, servers: &ModelServers) -> Result<(), Error> {
        let (models, speech): (Vec<_>, Vec<_>) =
            summaries(servers).into_iter().partition(|summary| summary.kind == ServerKind::Model);
        let are_up = |of: &[Summary]| truth(of.iter().all(|summary| summary.standing != Standing::Away));
        if !speech.is_empty() {
            self.gauge(
                "listen_speech_up",
                "Whether every speech server answers and takes the key, as far as living processes know.",
                are_up(&speech),
            )?;
        }
        if models.is_empty() {
            return Ok(());
        }
        self.gauge(
            "listen_engine_up",
            "Whether every model server answers and takes the key, as far as living processes know.",
            are_up(&models),
        )?;
        self.gauge(
            "listen_engine_waiting_jobs",
            "Jobs that wait because a model server ended their last run, counted to 1,000.",
            servers.waiting as f64,
        )
    }

    fn backlog(&self, backlog: &Backlog) -> Result<(), Error> {
        self.gauges(
            "listen_finalization_backlog",
            "What a queue has to do now: jobs that could run and jobs that run, each counted to 1,000; 0 while it is paused.",
            "queue",
            &backlog.queues,
        )?;
        self.gauge(
            "listen_finalization_oldest_parked_age_seconds",
            "Age of the oldest job that waits for its user's keys, counted from its last admission or replay.",
            backlog.oldest_parked_age,
        )?;
        self.gauge(
            "listen_finalization_oldest_lease_age_seconds",
            "Seconds since the oldest lease was claimed that is held now.",
            backlog.oldest_lease_age,
        )?;
        self.gauge(
            "listen_finalization_leases_overdue",
            "Leases that have run out and were not taken back yet.",
            backlog.leases_overdue as f64,
        )?;
        self.gauge(
            "listen_finalization_lease_holders",
            "Workers that hold a lease.",
            backlog.lease_holders as f64,
        )?;
        self.gauges(
            "listen_finalization_recent_dead_letters",
            "Of the newest 1,000 dead letters, those that no operator has dismissed, by failure code.",
            "code",
            &backlog.dead_letters,
        )?;
        self.gauges(
            "listen_webhook_backlog",
            "Events that an endpoint has not received, each state counted to 10,000.",
            "state",
            &backlog.deliveries,
        )
    }

    fn database(&self, health: &Health) -> Result<(), Error> {
        self.gauge(
            "listen_postgres_oldest_transaction_age_seconds",
            "Seconds since the oldest open transaction of the database began.",
            health.oldest_transaction_age,
        )?;
        self.gauge(
            "listen_postgres_oldest_snapshot_age_transactions",
            "How many transactions ago the oldest snapshot was taken that vacuum must respect.",
            health.oldest_snapshot_age as f64,
        )?;
        self.gauge("listen_postgres_size_bytes", "Size of the database on disk.", health.bytes as f64)?;
        self.gauges(
            "listen_postgres_sessions",
            "Sessions of the database by what they do; waiting is for a lock.",
            "state",
            &health.sessions,
        )?;
        self.gauge(
            "listen_postgres_sessions_allowed",
            "How many sessions the server allows.",
            health.sessions_allowed as f64,
        )?;
        self.counters(
            "listen_postgres_wal_bytes_total",
            "Write-ahead log written.",
            None,
            &[("", health.wal_bytes)],
        )?;
        self.counters(
            "listen_postgres_transactions_total",
            "Transactions by how they ended.",
            Some("end"),
            &[("commit", health.commits as f64), ("rollback", health.rollbacks as f64)],
        )?;
        self.counters(
            "listen_postgres_blocks_total",
            "Blocks by where they were found.",
            Some("from"),
            &[("cache", health.blocks_cached as f64), ("disk", health.blocks_read as f64)],
        )?;
        self.counters(
            "listen_postgres_deadlocks_total",
            "Deadlocks that the server ended.",
            None,
            &[("", health.deadlocks as f64)],
        )
    }

    /// A table that was never vacuumed has no age.
    fn tables(&self, health: &Health) -> Result<(), Error> {
        let per_table = |name: &str, help: &str| GaugeVec::new(Opts::new(name, help), &["table"]);
        let live = per_table("listen_postgres_live_tuples", "Rows that are there, as the server estimates.")?;
        let dead = per_table("listen_postgres_dead_tuples", "Rows that wait to be vacuumed away.")?;
        let vacuumed = per_table("listen_postgres_vacuum_age_seconds", "Seconds since the last vacuum.")?;
        for table in &health.tables {
            live.with_label_values(&[&table.name]).set(table.live as f64);
            dead.with_label_values(&[&table.name]).set(table.dead as f64);
            if let Some(ago) = table.vacuumed_ago {
                vacuumed.with_label_values(&[&table.name]).set(ago);
            }
        }
        [live, dead, vacuumed].into_iter().try_for_each(|metric| self.registry.register(Box::new(metric)))
    }

    fn gauge(&self, name: &str, help: &str, value: f64) -> Result<(), Error> {
        let gauge = Gauge::new(name, help)?;
        gauge.set(value);
        self.registry.register(Box::new(gauge))
    }

    fn gauges(
        &self,
        name: &str,
        help: &str,
        label: &str,
        values: &[(&'static str, i64)],
    ) -> Result<(), Error> {
        let gauges = GaugeVec::new(Opts::new(name, help), &[label])?;
        for (value, count) in values {
            gauges.with_label_values(&[value]).set(*count as f64);
        }
        self.registry.register(Box::new(gauges))
    }

    /// Counters of the server, which has counted all along.
    fn counters(
        &self,
        name: &str,
        help: &str,
        label: Option<&str>,
        values: &[(&str, f64)],
    ) -> Result<(), Error> {
        let labels: Vec<&str> = label.into_iter().collect();
        let counters = CounterVec::new(Opts::new(name, help), &labels)?;
        for (value, count) in values {
            let values: &[&str] = if label.is_some() { &[value] } else { &[] };
            counters.with_label_values(values).inc_by(count.max(0.0));
        }
        self.registry.register(Box::new(counters))
    }
}

fn truth(holds: bool) -> f64 {
    if holds { 1.0 } else { 0.0 }
}

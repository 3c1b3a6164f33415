//! The second listener: metrics and health. Liveness does not touch the database, readiness does.

mod families;
mod gauges;

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use axum::{
    Router,
    extract::{RawQuery, State},
    http::{StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};
use compute::Pool;
use db::Trouble;
use futures::{StreamExt, future::join_all, stream::FuturesUnordered};
use ledger::{Ledger, Shards};
use prometheus::{Encoder, Registry, TextEncoder};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use worker::Health;

use self::gauges::Service;
use crate::pooler;

/// How long readiness waits for the database.
const READY_WAIT: Duration = Duration::from_secs(2);

const SCHEMA: &str = "the schema is not this version's: run `listen migrate`";
const NO_WRITES: &str = "the database accepts no writes";

/// What the admin routes look at.
#[derive(Clone)]
struct Admin {
    registry: Registry,
    service: Arc<Service>,
    readiness: Readiness,
}

/// Whether this process takes work.
#[derive(Clone)]
pub(crate) struct Readiness {
    pub(crate) shards: Vec<Arc<ShardReadiness>>,
    pub(crate) stopping: CancellationToken,
}

impl Readiness {
    /// Asks the process and its database: with several shards, one that takes work is enough.
    ///
    /// # Errors
    /// Why it does not take work.
    pub(crate) async fn check(&self) -> Result<(), &'static str> {
        self.process()?;
        let mut asked: FuturesUnordered<_> = self.shards.iter().map(|shard| shard.check()).collect();
        let mut refused = Ok(());
        while let Some(found) = asked.next().await {
            match found {
                Ok(()) => return Ok(()),
                Err(reason) => refused = Err(reason),
            }
        }
        refused
    }

    /// The same checks by their names, all of them, and whether the process is ready.
    async fn checks(&self) -> (Vec<(String, Result<(), &'static str>)>, bool) {
        let mut checks = vec![("process".to_owned(), self.process())];
        let mut one_is_ready = false;
        let databases = join_all(self.shards.iter().map(|shard| shard.database())).await;
        for (number, (shard, database)) in self.shards.iter().zip(databases).enumerate() {
            let of = if self.shards.len() == 1 { String::new() } else { format!("shard {number} ") };
            let worker = shard.worker();
            one_is_ready |= worker.is_ok() && database.is_ok();
            if shard.has_worker {
                checks.push((format!("{of}worker"), worker));
            }
            checks.push((format!("{of}database"), database));
        }
        (checks, self.process().is_ok() && one_is_ready)
    }

    fn process(&self) -> Result<(), &'static str> {
        if self.stopping.is_cancelled() { Err("stopping") } else { Ok(()) }
    }
}

/// Whether a shard takes work here.
pub(crate) struct ShardReadiness {
    ledger: Ledger,
    /// Whether the process has the worker's role.
    has_worker: bool,
    /// Whether the process hears no notifications.
    polls_only: bool,
    /// Its worker, once it was started.
    pub(crate) worker: OnceLock<Health>,
    /// Whether its database accepted writes once since the process started.
    accepted_writes: AtomicBool,
    /// Whether its sessions were seen to be kept as this process needs them.
    keeps_sessions: AtomicBool,
}

impl ShardReadiness {
    pub(crate) fn new(ledger: Ledger, has_worker: bool, polls_only: bool) -> Self {
        let (accepted_writes, keeps_sessions) = (AtomicBool::new(false), AtomicBool::new(false));
        Self { ledger, has_worker, polls_only, worker: OnceLock::new(), accepted_writes, keeps_sessions }
    }

    async fn check(&self) -> Result<(), &'static str> {
        if self.worker.get().is_some() {
            self.worker()?;
        }
        // Before a worker that is not started yet: it waits for the schema.
        self.database().await?;
        self.worker()
    }

    fn worker(&self) -> Result<(), &'static str> {
        match self.has_worker && !self.worker.get().is_some_and(Health::is_healthy) {
            true => Err("no worker runs"),
            false => Ok(()),
        }
    }

    /// A process that starts at a database without writes is not ready, so that a rolling update with the address of a standby
    /// stops. One that was ready stays so, and goes on with reads, while its database has become one.
    async fn database(&self) -> Result<(), &'static str> {
        let db = self.ledger.db();
        let asked = async { Ok((db.is_migrated().await?, db.accepts_writes().await?)) };
        // Together: both may be answered by silence, and what a pooler makes of the first is any error.
        let (asked, sessions) = tokio::join!(db.within(READY_WAIT, asked), self.sessions());
        sessions?;
        let (is_migrated, accepts_writes) = asked.map_err(|error| match error.trouble() {
            Some(Trouble::Pooler) => pooler::LOSES_STATEMENTS,
            Some(Trouble::Credentials) => "the database does not let this user in",
            Some(Trouble::NoDatabase) => "the server has no such database",
            _ => "the database does not answer",
        })?;
        if !is_migrated {
            return Err(SCHEMA);
        }
        match self.accepted_writes.fetch_or(accepts_writes, Ordering::Relaxed) || accepts_writes {
            true => Ok(()),
            false => Err(NO_WRITES),
        }
    }

    /// Asked until it is known: a server that has no session left for the question may answer all the same.
    async fn sessions(&self) -> Result<(), &'static str> {
        if self.keeps_sessions.load(Ordering::Relaxed) {
            return Ok(());
        }
        // Not `within`, which would mark the pool's sessions as suspect: this asks through sessions of its own.
        match timeout(READY_WAIT, self.ledger.db().pooling()).await {
            Ok(Ok(found)) => match pooler::obstacle(found, self.polls_only) {
                Some(words) => Err(words),
                None => {
                    self.keeps_sessions.store(true, Ordering::Relaxed);
                    Ok(())
                }
            },
            Ok(Err(_)) | Err(_) => Ok(()),
        }
    }
}

/// `/metrics`, `/livez`, `/readyz`.
pub(crate) fn router(shards: Shards, readiness: Readiness, compute: Pool, registry: Registry) -> Router {
    let service = Arc::new(Service::new(shards, compute));
    Router::new()
        .route("/metrics", get(metrics))
        .route("/livez", get(|| async { "alive\n" }))
        .route("/readyz", get(ready))
        .with_state(Admin { registry, service, readiness })
}

async fn metrics(State(admin): State<Admin>) -> Response {
    let mut families = admin.registry.gather();
    families.extend(admin.service.gather().await);
    families.sort_by(|one, other| one.name().cmp(other.name()));
    let mut text = Vec::new();
    match TextEncoder::new().encode(&families, &mut text) {
        Ok(()) => {
            ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text).into_response()
        }
        Err(error) => {
            tracing::error!(%error, "metrics could not be encoded");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

/// `?verbose` lists every check instead of the first that failed.
async fn ready(State(admin): State<Admin>, RawQuery(query): RawQuery) -> Response {
    let is_verbose = query.is_some_and(|query| query.split('&').any(|name| name.starts_with("verbose")));
    if is_verbose {
        let (checks, is_ready) = admin.readiness.checks().await;
        let lines: String = checks
            .iter()
            .map(|(name, found)| match found {
                Ok(()) => format!("[ok] {name}\n"),
                Err(reason) => format!("[failed] {name}: {reason}\n"),
            })
            .collect();
        return match is_ready {
            true => format!("{lines}ready\n").into_response(),
            false => (StatusCode::SERVICE_UNAVAILABLE, format!("{lines}not ready\n")).into_response(),
        };
    }
    match admin.readiness.check().await {
        Ok(()) => "ready\n".into_response(),
        Err(reason) => (StatusCode::SERVICE_UNAVAILABLE, format!("{reason}\n")).into_response(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

    use std::net::TcpListener;

    use axum::body::to_bytes;
    use ledger::Settings;
    use sqlx::postgres::PgConnectOptions;
    use tokio::time::Instant;

    use super::*;

    /// What is answered while the database takes every connection and says nothing on any.
    async fn ready_without_query(
        worker: Option<Health>,
        stopping: CancellationToken,
    ) -> (StatusCode, String) {
        ready_with(worker, stopping, None).await
    }

    async fn ready_with(
        worker: Option<Health>,
        stopping: CancellationToken,
        query: Option<&str>,
    ) -> (StatusCode, String) {
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let options = PgConnectOptions::new_without_pgpass()
            .host("127.0.0.1")
            .port(silent.local_addr().unwrap().port());
        let ledger = Ledger::new(options, Settings::default());
        let service = Arc::new(Service::new(Shards::from(ledger.clone()), Pool::new(1).unwrap()));
        let shard = ShardReadiness::new(ledger, worker.is_some(), false);
        if let Some(health) = worker {
            assert!(shard.worker.set(health).is_ok());
        }
        let readiness = Readiness { shards: vec![Arc::new(shard)], stopping };
        let admin = Admin { registry: Registry::new(), service, readiness };
        let answer = ready(State(admin), RawQuery(query.map(str::to_owned))).await;
        let (status, body) = (answer.status(), to_bytes(answer.into_body(), 1 << 10).await.unwrap());
        (status, String::from_utf8(body.to_vec()).unwrap())
    }

    fn unready(words: &str) -> (StatusCode, String) {
        (StatusCode::SERVICE_UNAVAILABLE, words.to_owned())
    }

    #[tokio::test(start_paused = true)]
    async fn readiness_fails_during_shutdown_or_without_a_worker() {
        let stopping = CancellationToken::new();
        assert_eq!(
            ready_without_query(Some(Health::default()), stopping.clone()).await,
            unready("no worker runs\n")
        );
        stopping.cancel();
        assert_eq!(ready_without_query(Some(Health::default()), stopping).await, unready("stopping\n"));
    }

    #[tokio::test(start_paused = true)]
    async fn readiness_verbose_names_every_check_and_result() {
        let words = "[ok] process\n[failed] worker: no worker runs\n\
                     [failed] database: the database does not answer\nnot ready\n";
        let answer = ready_with(Some(Health::default()), CancellationToken::new(), Some("verbose")).await;
        assert_eq!(answer, unready(words));
    }

    #[tokio::test(start_paused = true)]
    async fn readiness_waits_two_seconds_for_a_silent_database() {
        let begun = Instant::now();
        assert_eq!(
            ready_without_query(None, CancellationToken::new()).await,
            unready("the database does not answer\n")
        );
        assert_eq!(begun.elapsed().as_secs(), 2);
    }
}

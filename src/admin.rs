//! The second listener: metrics and health. Liveness does not touch the database, readiness does.

mod families;
mod gauges;

use std::{
    sync::{Arc, OnceLock},
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
use ledger::Ledger;
use prometheus::{Encoder, Registry, TextEncoder};
use tokio_util::sync::CancellationToken;
use worker::Health;

use self::gauges::Service;

/// How long readiness waits for the database.
const READY_WAIT: Duration = Duration::from_secs(2);

const SCHEMA: &str = "the schema is not this version's: run `listen migrate`\n";

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
    pub(crate) ledger: Ledger,
    /// Whether the process has the worker's role.
    pub(crate) has_worker: bool,
    /// Its worker, once it was started.
    pub(crate) worker: Arc<OnceLock<Health>>,
    pub(crate) stopping: CancellationToken,
}

impl Readiness {
    /// Asks the process and its database.
    ///
    /// # Errors
    /// Why it does not take work, as a line.
    pub(crate) async fn check(&self) -> Result<(), &'static str> {
        self.process()?;
        if self.worker.get().is_some() {
            self.worker()?;
        }
        // Before a worker that is not started yet: it waits for the schema.
        self.database().await?;
        self.worker()
    }

    /// The same checks by their names, all of them.
    async fn checks(&self) -> Vec<(&'static str, Result<(), &'static str>)> {
        let mut checks = vec![("process", self.process())];
        if self.has_worker {
            checks.push(("worker", self.worker()));
        }
        checks.push(("database", self.database().await));
        checks
    }

    fn process(&self) -> Result<(), &'static str> {
        if self.stopping.is_cancelled() { Err("stopping\n") } else { Ok(()) }
    }

    fn worker(&self) -> Result<(), &'static str> {
        match self.has_worker && !self.worker.get().is_some_and(Health::is_healthy) {
            true => Err("no worker runs\n"),
            false => Ok(()),
        }
    }

    async fn database(&self) -> Result<(), &'static str> {
        match self.ledger.db().within(READY_WAIT, self.ledger.db().is_migrated()).await {
            Ok(true) => Ok(()),
            Ok(false) => Err(SCHEMA),
            Err(_) => Err("the database does not answer\n"),
        }
    }
}

/// `/metrics`, `/livez`, `/readyz`.
pub(crate) fn router(readiness: Readiness, compute: Pool, registry: Registry) -> Router {
    let service = Arc::new(Service::new(readiness.ledger.clone(), compute));
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
        let checks = admin.readiness.checks().await;
        let lines: String = checks
            .iter()
            .map(|(name, found)| match found {
                Ok(()) => format!("[ok] {name}\n"),
                Err(reason) => format!("[failed] {name}: {reason}"),
            })
            .collect();
        return match checks.iter().all(|(_, found)| found.is_ok()) {
            true => format!("{lines}ready\n").into_response(),
            false => (StatusCode::SERVICE_UNAVAILABLE, format!("{lines}not ready\n")).into_response(),
        };
    }
    match admin.readiness.check().await {
        Ok(()) => "ready\n".into_response(),
        Err(reason) => (StatusCode::SERVICE_UNAVAILABLE, reason).into_response(),
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
        let service = Arc::new(Service::new(ledger.clone(), Pool::new(1).unwrap()));
        let has_worker = worker.is_some();
        let worker = Arc::new(worker.map_or_else(OnceLock::new, OnceLock::from));
        let readiness = Readiness { ledger, has_worker, worker, stopping };
        let admin = Admin { registry: Registry::new(), service, readiness };
        let answer = ready(State(admin), RawQuery(query.map(str::to_owned))).await;
        let (status, body) = (answer.status(), to_bytes(answer.into_body(), 1 << 10).await.unwrap());
        (status, String::from_utf8(body.to_vec()).unwrap())
    }

    fn unready(words: &str) -> (StatusCode, String) {
        (StatusCode::SERVICE_UNAVAILABLE, words.to_owned())
    }

    #[tokio::test(start_paused = true)]
    async fn a_process_that_stops_or_has_no_worker_is_not_ready_whatever_the_database_says() {
        let stopping = CancellationToken::new();
        assert_eq!(
            ready_without_query(Some(Health::default()), stopping.clone()).await,
            unready("no worker runs\n")
        );
        stopping.cancel();
        assert_eq!(ready_without_query(Some(Health::default()), stopping).await, unready("stopping\n"));
    }

    #[tokio::test(start_paused = true)]
    async fn a_verbose_answer_names_every_check_and_what_it_found() {
        let words = "[ok] process\n[failed] worker: no worker runs\n\
                     [failed] database: the database does not answer\nnot ready\n";
        let answer = ready_with(Some(Health::default()), CancellationToken::new(), Some("verbose")).await;
        assert_eq!(answer, unready(words));
    }

    #[tokio::test(start_paused = true)]
    async fn a_database_that_says_nothing_is_waited_for_no_longer_than_two_seconds() {
        let begun = Instant::now();
        assert_eq!(
            ready_without_query(None, CancellationToken::new()).await,
            unready("the database does not answer\n")
        );
        assert_eq!(begun.elapsed().as_secs(), 2);
    }
}

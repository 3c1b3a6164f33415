//! The second listener: metrics and health. Liveness does not touch the database, readiness does.

mod families;
mod gauges;

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};
use ledger::Ledger;
use prometheus::{Encoder, Registry, TextEncoder};
use tokio_util::sync::CancellationToken;
use worker::Health;

use self::gauges::Service;

/// How long readiness waits for the database.
const READY_WAIT: Duration = Duration::from_secs(2);

/// What the admin routes look at.
#[derive(Clone)]
struct Admin {
    ledger: Ledger,
    registry: Registry,
    service: Arc<Service>,
    worker: Option<Health>,
    stopping: CancellationToken,
}

/// `/metrics`, `/livez`, `/readyz`. `worker` is the process's worker, when it has the role.
pub(crate) fn router(
    ledger: Ledger,
    registry: Registry,
    worker: Option<Health>,
    stopping: CancellationToken,
) -> Router {
    let service = Arc::new(Service::new(ledger.clone()));
    Router::new()
        .route("/metrics", get(metrics))
        .route("/livez", get(|| async { "alive\n" }))
        .route("/readyz", get(ready))
        .with_state(Admin { ledger, registry, service, worker, stopping })
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

async fn ready(State(admin): State<Admin>) -> Response {
    let unready = |words: &'static str| (StatusCode::SERVICE_UNAVAILABLE, words).into_response();
    if admin.stopping.is_cancelled() {
        return unready("stopping\n");
    }
    if admin.worker.as_ref().is_some_and(|worker| !worker.is_healthy()) {
        return unready("no worker runs\n");
    }
    match tokio::time::timeout(READY_WAIT, admin.ledger.is_migrated()).await {
        Ok(Ok(true)) => "ready\n".into_response(),
        Ok(Ok(false)) => unready("the schema is not this version's: run `listen migrate`\n"),
        Ok(Err(_)) | Err(_) => unready("the database does not answer\n"),
    }
}

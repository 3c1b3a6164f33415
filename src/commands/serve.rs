//! `listen serve`: the service, until it is asked to stop.

use std::{process::ExitCode, sync::Arc, time::Duration};

use anyhow::Context;
use axum::Router;
use rand::RngExt;
use tokio::net::TcpListener;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use worker::{Unwatched, Watch};

use crate::{
    admin,
    config::{Config, Role},
    console,
    lifecycle::Lifecycle,
    listener,
    presence::{self, Tally},
    traces::SpanCounts,
    wiring::{App, chance, database, process_name},
};

/// Runs the roles of this process. A database that is down at start is a matter of readiness: the process
/// stays and recovers by itself.
///
/// # Errors
/// When the configuration cannot work or an address cannot be listened on.
pub(crate) async fn run(config: Config, spans: Option<SpanCounts>) -> anyhow::Result<ExitCode> {
    let options = database(config.database_url.as_deref())?;
    let app = App::wire(config, options)?;
    app.show_spans(spans)?;
    let lifecycle = Lifecycle::of_signals().context("listening for signals")?;
    let service = start(&app, &lifecycle, Arc::new(Unwatched)).await?;
    service.stopped(&app, &lifecycle).await;
    Ok(ExitCode::SUCCESS)
}

/// A running process of the service.
pub(crate) struct Service {
    tasks: TaskTracker,
    /// Where the API listens, if this process has that role.
    pub(crate) api: Option<std::net::SocketAddr>,
    /// Where metrics and health are.
    pub(crate) admin: std::net::SocketAddr,
}

/// Starts everything that the roles ask for.
///
/// # Errors
/// When an address cannot be listened on, or a part cannot be made.
pub(crate) async fn start(
    app: &App,
    lifecycle: &Lifecycle,
    watch: Arc<dyn Watch>,
) -> anyhow::Result<Service> {
    let tasks = TaskTracker::new();
    let tally = Arc::new(Tally::new(watch));
    let health = app.start_worker(&tasks, lifecycle, tally.clone())?;
    app.start_keyed(&tasks, lifecycle);
    presence::start(app, &tasks, lifecycle, tally);
    app.start_repair(&tasks, lifecycle)?;
    app.start_wakes(&tasks, lifecycle);
    let admin_router =
        admin::router(app.ledger.clone(), app.registry.clone(), health, lifecycle.soft.clone());
    let desk =
        console::router(app.ledger.clone(), app.config.door()?, chance().random(), lifecycle.hard.clone());
    let admin_router = admin_router.merge(desk);
    // The API first: whoever is told "ready" by the admin address must find it listening.
    let api = match app.config.has(Role::Api) {
        true => {
            Some(listen(&tasks, app.config.addr, app.router(), lifecycle.soft.clone(), app.farewell()).await?)
        }
        false => None,
    };
    let admin =
        listen(&tasks, app.config.admin_addr, admin_router, lifecycle.hard.clone(), app.farewell()).await?;
    tracing::info!(api = api.map(tracing::field::display), %admin, "listening");
    Ok(Service { tasks, api, admin })
}

impl Service {
    /// Waits for the first signal, and then until everything has come to rest, or the second signal.
    pub(crate) async fn stopped(self, app: &App, lifecycle: &Lifecycle) {
        lifecycle.soft.cancelled().await;
        self.tasks.close();
        let admin = lifecycle.hard.clone();
        let others = async {
            // The admin listener stays up while runs drain, so that somebody can watch them: it is the last task.
            while self.tasks.len() > 1 {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::select! {
            () = others => admin.cancel(),
            () = lifecycle.hard.cancelled() => {}
        }
        let _ = tokio::time::timeout(Duration::from_secs(2), self.tasks.wait()).await;
        let name = process_name();
        let leave = app.ledger.forget_process(&name);
        let _ = tokio::time::timeout(Duration::from_secs(1), leave).await;
        // A session that is silent is not waited for.
        let _ = tokio::time::timeout(Duration::from_secs(1), app.ledger.close()).await;
        tracing::info!("stopped");
    }
}

/// Serves `router` on `addr` until `stop`; requests in flight finish first, for as long as `farewell`: a client that
/// never sends the rest of its request holds nobody up. Answers the bound address.
///
/// # Errors
/// When the address cannot be listened on.
pub(crate) async fn listen(
    tasks: &TaskTracker,
    addr: std::net::SocketAddr,
    router: Router,
    stop: CancellationToken,
    farewell: Duration,
) -> anyhow::Result<std::net::SocketAddr> {
    let listener = TcpListener::bind(addr).await.with_context(|| format!("listening on {addr}"))?;
    let bound = listener.local_addr().context("reading the bound address")?;
    tasks.spawn(async move {
        let too_late = async {
            stop.cancelled().await;
            tokio::time::sleep(farewell).await;
        };
        tokio::select! {
            () = listener::serve(listener, router, stop.clone()) => {}
            () = too_late => tracing::warn!("requests that were not finished are given up"),
        }
    });
    Ok(bound)
}

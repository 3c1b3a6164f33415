//! `listen serve`: the service, until it is asked to stop.

use std::{net::SocketAddr, process::ExitCode, sync::Arc, time::Duration};

use anyhow::Context;
use axum::{Router, http::StatusCode, middleware::from_fn};
use futures::future::join_all;
use ledger::Ledger;
use operations::Operations;
use prometheus::Registry;
use rand::RngExt;
use tokio::{
    net::{TcpListener, TcpSocket},
    sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tower_http::timeout::TimeoutLayer;

use crate::{
    admin::{self, Readiness, ShardReadiness},
    config::{Config, Dispatch, Role},
    connections::{self, Connections, Limits},
    console, exit,
    lifecycle::Lifecycle,
    listener, model_servers, notify, pooler,
    process::{chance, process_name},
    process_report, schema,
    traces::SpanCounts,
    wiring::App,
};

/// How long an admin request is worked on: pages and metrics have shorter limits of their own, and say what was cut off.
const LONGEST_ADMIN_ANSWER: Duration = console::PATIENCE.saturating_add(Duration::from_secs(15));

/// Runs the roles of this process. A database that is down at start is a matter of readiness: the process
/// stays and recovers by itself.
pub(crate) async fn run(
    config: Config,
    lifecycle: Lifecycle,
    spans: Option<SpanCounts>,
) -> anyhow::Result<ExitCode> {
    exit::refuse(&config.problems_of_service())?;
    let addresses = config.addresses()?;
    let app = Arc::new(App::wire(config, addresses)?);
    app.show_spans(spans)?;
    let are_several = app.shards.count() > 1;
    if are_several {
        lifecycle.soft.run_until_cancelled(schema::refuse_others(&app.shards)).await.transpose()?;
    }
    if lifecycle.soft.is_cancelled() {
        tracing::info!("stopped");
        return Ok(ExitCode::SUCCESS);
    }
    let service = start(&app, &lifecycle).await?;
    if !are_several {
        // Where there is one, a silent database does not delay the listeners.
        lifecycle.soft.run_until_cancelled(schema::refuse_others(&app.shards)).await.transpose()?;
    }
    service.stopped(&app, &lifecycle).await?;
    Ok(ExitCode::SUCCESS)
}

/// A running process of the service.
pub(crate) struct Service {
    tasks: TaskTracker,
    /// Why a part could not be started.
    failures: UnboundedReceiver<anyhow::Error>,
    /// Where the API listens, or the run route of a worker alone.
    pub(crate) api: Option<SocketAddr>,
    /// Where metrics and health are.
    pub(crate) admin: SocketAddr,
}

/// Starts everything that the roles ask for: the listeners at once, and what works with a shard's database when its schema is
/// there.
pub(crate) async fn start(app: &Arc<App>, lifecycle: &Lifecycle) -> anyhow::Result<Service> {
    // Before anything runs: a process that has no place to listen must leave no trace.
    let api = bind_public(&app.config)?;
    let admin_listener = bind(app.config.admin_addr, "LISTEN_ADMIN_ADDR")?;
    let tasks = TaskTracker::new();
    // The API, and what its requests need, go on for those whom a load balancer still sends.
    let front = match app.config.has(Role::Api) {
        true => lifecycle.later(&tasks, app.config.drain()),
        false => lifecycle.clone(),
    };
    let shard = |ledger: &Ledger| {
        ShardReadiness::new(ledger.clone(), app.config.has(Role::Worker), app.config.polls_only())
    };
    let readiness = Readiness {
        shards: app.shards.iter().map(|ledger| Arc::new(shard(ledger))).collect(),
        stopping: lifecycle.soft.clone(),
    };
    let (shards, registry) = (app.shards.clone(), app.registry.clone());
    let admin_router = admin::router(shards, readiness.clone(), app.compute.clone(), registry);
    let console = console::router(
        app.shards.clone(),
        app.config.console_access().map_err(anyhow::Error::msg)?,
        chance().random(),
        app.config.boards(),
    );
    let admin_router = admin_router
        .merge(console)
        .layer(TimeoutLayer::with_status_code(StatusCode::SERVICE_UNAVAILABLE, LONGEST_ADMIN_ANSWER))
        .layer(from_fn(api::run_requests_to_completion));
    let refused = connections::refusals(&app.registry).context("registering metrics")?;
    let limits = app.config.public_connections(connections::raise_open_files());
    if api.is_some() && limits.all < app.config.connections {
        tracing::warn!(
            connections = limits.all,
            "fewer connections than LISTEN_CONNECTIONS: the limit of open files (ulimit -n) is too small for more"
        );
    }
    if app.config.has(Role::Api) && app.config.finalization_dispatch_mode == Dispatch::Inline {
        tracing::warn!(
            "finalize answers 503, because durable dispatch is not configured: set \
             LISTEN_FINALIZATION_DISPATCH_MODE to postgres"
        );
    }
    // The API first: a client that the admin address calls ready must find it listening.
    let api = api.map(|(listener, addr)| {
        let connections = Connections::new(limits, refused.clone());
        attend(&tasks, listener, app.router(), connections, front.soft.clone(), app.shutdown_grace());
        addr
    });
    tasks.spawn(notify::report(readiness.clone(), lifecycle.soft.clone()));
    let (listener, admin) = admin_listener;
    let connections = Connections::new(Limits::admin(), refused);
    attend(&tasks, listener, admin_router, connections, lifecycle.hard.clone(), app.shutdown_grace());
    tracing::info!(api = api.map(tracing::field::display), %admin, "listening");
    app.start_keyed(&tasks, &front);
    app.start_tasks(&tasks, lifecycle);
    app.start_live(&tasks, &front);
    app.start_chat(&tasks, &front);
    model_servers::start(&app.shards, &app.engines, app.speech_engine(), &tasks, lifecycle);
    let (failed, failures) = unbounded_channel();
    for (ledger, readiness) in app.shards.iter().zip(&readiness.shards) {
        let shard = ShardStart {
            app: Arc::clone(app),
            ledger: ledger.clone(),
            readiness: Arc::clone(readiness),
            tasks: tasks.clone(),
            lifecycle: lifecycle.clone(),
            front: front.clone(),
            failed: failed.clone(),
        };
        tasks.spawn(shard.start());
    }
    Ok(Service { tasks, failures, api, admin })
}

/// What one shard is started with.
struct ShardStart {
    app: Arc<App>,
    ledger: Ledger,
    /// Where its worker is found.
    readiness: Arc<ShardReadiness>,
    tasks: TaskTracker,
    lifecycle: Lifecycle,
    front: Lifecycle,
    /// Where it says why a part cannot be started.
    failed: UnboundedSender<anyhow::Error>,
}

impl ShardStart {
    /// Waits for sessions that keep what they prepare and for the shard's schema, and starts what the roles ask for there. A shard that
    /// does not answer is started all the same: what works with it waits for it.
    async fn start(self) {
        tracing::debug!(shard = %self.ledger.db().shard(), "starting");
        self.tasks.spawn(schema::watch(self.ledger.clone(), self.lifecycle.soft.clone()));
        pooler::wait(&self.ledger, self.app.config.polls_only(), &self.lifecycle.soft).await;
        schema::wait(&self.ledger, &self.lifecycle.soft).await;
        if let Err(error) = self.start_work() {
            tracing::error!(%error, "a part of this process cannot be started: it stops");
            let _ = self.failed.send(error);
            self.lifecycle.soft.cancel();
        }
    }

    fn start_work(&self) -> anyhow::Result<()> {
        let Self { app, ledger, readiness, tasks, lifecycle, front, .. } = self;
        if let Some(health) = app.start_worker(ledger, tasks, lifecycle, app.run_counter(ledger))? {
            let _ = readiness.worker.set(health);
        }
        app.start_hand_over(ledger, tasks, lifecycle);
        app.start_repair(ledger, tasks, lifecycle)?;
        app.start_wakes(ledger, tasks, front);
        // Nothing can fail any more: now this process may be known to others.
        process_report::start(&app.config, ledger, app.run_counter(ledger), tasks, lifecycle);
        Ok(())
    }
}

impl Service {
    /// Waits for the first signal, and then until everything has come to rest, or the second signal.
    pub(crate) async fn stopped(mut self, app: &App, lifecycle: &Lifecycle) -> anyhow::Result<()> {
        lifecycle.soft.cancelled().await;
        self.tasks.close();
        let admin = lifecycle.hard.clone();
        let others = async {
            // The admin listener stays up while runs drain, so that operators can watch them: it is the last task.
            while self.tasks.len() > 1 {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::select! {
            () = others => admin.cancel(),
            () = lifecycle.hard.cancelled() => {}
        }
        let _ = tokio::time::timeout(Duration::from_secs(2), self.tasks.wait()).await;
        let leave = join_all(app.shards.iter().map(async |ledger| {
            let operations = Operations::new(ledger);
            process_report::last_words(&app.config, &operations, &app.run_counter(ledger)).await;
            operations.forget_process(&process_name()).await
        }));
        let _ = tokio::time::timeout(Duration::from_secs(3), leave).await;
        // A session that is silent is not waited for.
        let close = join_all(app.shards.iter().map(|ledger| ledger.db().close()));
        let _ = tokio::time::timeout(Duration::from_secs(1), close).await;
        tracing::info!("stopped");
        self.failures.try_recv().map_or(Ok(()), Err)
    }
}

/// Serves `router` on `addr` until `stop`. Answers the bound address.
pub(crate) async fn listen(
    tasks: &TaskTracker,
    addr: SocketAddr,
    router: Router,
    stop: CancellationToken,
    shutdown_grace: Duration,
) -> anyhow::Result<SocketAddr> {
    let (listener, bound) = bind(addr, "LISTEN_ADDR")?;
    let refused = connections::refusals(&Registry::new()).context("registering metrics")?;
    let connections = Connections::new(Limits::admin(), refused);
    attend(tasks, listener, router, connections, stop, shutdown_grace);
    Ok(bound)
}

/// Takes the public address: for the API, or for the run route of a worker alone. Without an invoker every delivery would be
/// refused: a worker leaves the address to an API on the same machine.
fn bind_public(config: &Config) -> anyhow::Result<Option<(TcpListener, SocketAddr)>> {
    if !config.takes_deliveries() || (!config.has(Role::Api) && !config.tasks.has_invoker()) {
        return Ok(None);
    }
    bind(config.addr, "LISTEN_ADDR").map(Some)
}

/// Connections that wait until they are accepted. When a process is replaced, all of its clients come at once; those for which
/// there is no room here are reset by the kernel.
const BACKLOG: u32 = 4_096;

/// Takes the address that the setting `name` holds.
fn bind(addr: SocketAddr, name: &'static str) -> anyhow::Result<(TcpListener, SocketAddr)> {
    let listener = listening(addr).with_context(|| format!("listening on {addr} ({name})"))?;
    let bound = listener.local_addr().context("reading the bound address")?;
    Ok((listener, bound))
}

fn listening(addr: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = if addr.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // The address of a process that was replaced is free at once.
    socket.set_reuseaddr(cfg!(unix))?;
    socket.bind(addr)?;
    socket.listen(BACKLOG)
}

/// Serves `router` until `stop`; requests in flight finish first, for as long as the grace period: a client that never sends
/// the rest of its request delays no shutdown.
fn attend(
    tasks: &TaskTracker,
    listener: TcpListener,
    router: Router,
    connections: Connections,
    stop: CancellationToken,
    shutdown_grace: Duration,
) {
    tasks.spawn(async move {
        let too_late = async {
            stop.cancelled().await;
            tokio::time::sleep(shutdown_grace).await;
        };
        tokio::select! {
            () = listener::serve(listener, router, connections, stop.clone()) => {}
            () = too_late => tracing::warn!("requests that were not finished are given up"),
        }
    });
}

//! The composition root: pools, ledger, engines, outside world, and which role runs where.

use std::{str::FromStr, sync::Arc};

use anyhow::Context;
use axum::Router;
use engines::{DayOrder, Embedded, OpenAi, OpenAiConfig};
use ledger::{ClaimedDelivery, ConversationView, Ledger};
use outside::{Guard, Sender};
use prometheus::Registry;
use rand::{Rng, SeedableRng, rngs::StdRng};
use secrecy::SecretString;
use sqlx::postgres::PgConnectOptions;
use stages::Engines;
use tokio_util::task::TaskTracker;
use worker::{Health, Watch, Worker};

use crate::{
    config::{Config, DateOrder, Dispatch, Role},
    exit::Exit,
    lifecycle::Lifecycle,
};

/// Everything that one process of the service is made of, wired and not yet running.
pub(crate) struct App {
    pub(crate) config: Config,
    pub(crate) ledger: Ledger,
    pub(crate) registry: Registry,
    guard: Guard,
    engines: Engines,
    worker_metrics: worker::Metrics,
    reconciler_metrics: reconciler::Metrics,
    api_metrics: api::Metrics,
}

impl App {
    /// Wires a process; nothing connects or listens yet.
    ///
    /// # Errors
    /// When the configuration cannot work; every problem is named at once.
    pub(crate) fn wire(config: Config, database: PgConnectOptions) -> anyhow::Result<Self> {
        let problems = config.problems();
        if !problems.is_empty() {
            let words = format!("this configuration cannot work:\n  - {}", problems.join("\n  - "));
            return Err(Exit::Usage(words).into());
        }
        install_crypto();
        let registry = Registry::new();
        let worker_metrics = worker::Metrics::new(&registry).context("registering metrics")?;
        let counts = Arc::new(Counts(worker_metrics.clone()));
        let reconciler_metrics =
            reconciler::Metrics::new(&registry, counts).context("registering metrics")?;
        let api_metrics = api::Metrics::register(&registry).context("registering metrics")?;
        let failed = worker_metrics.enqueue_failures();
        let ledger = Ledger::new(
            database,
            ledger::Settings {
                connections: config.database_connections,
                bells: config.finalization_dispatch_mode != Dispatch::Inline,
                policy: config.policy(),
                enqueue_failed: Arc::new(move || failed.inc()),
            },
        );
        let engines = engines(&config, &worker_metrics)?;
        let guard = Guard::new(config.allow_outgoing.clone());
        Ok(Self { config, ledger, registry, guard, engines, worker_metrics, reconciler_metrics, api_metrics })
    }

    /// The public routes.
    pub(crate) fn router(&self) -> Router {
        let guard = self.guard.clone();
        let check_url = Arc::new(move |url: &str| guard.check_url(url).is_ok());
        let vendors = match self.config.vendor_sources.is_empty() {
            true => records::Source::VENDORS.iter().map(ToString::to_string).collect(),
            false => self.config.vendor_sources.clone(),
        };
        let settings = api::Settings {
            create_wait: std::time::Duration::from_secs(self.config.create_wait_seconds),
            rate_per_minute: self.config.rate_per_minute,
            vendor_sources: vendors,
            finalize_enabled: self.config.finalization_dispatch_mode != Dispatch::Inline,
            categorize: Arc::new(Categories(Embedded::new())),
        };
        api::router(self.ledger.clone(), check_url, settings, self.api_metrics.clone())
    }

    /// A worker of this process, with somebody watching its runs.
    ///
    /// # Errors
    /// When the outgoing client cannot be made.
    pub(crate) fn worker(&self, name: &str, watch: Arc<dyn Watch>) -> anyhow::Result<Worker> {
        let sender = Sender::new(self.guard.clone()).context("making the outgoing client")?;
        let settings = worker::Settings {
            finalization_concurrency: self.config.finalization_concurrency,
            creation_concurrency: self.config.creation_concurrency,
            heartbeat: self.config.heartbeat(),
            worker_name: name.to_owned(),
            pause_after: self.config.pause_after(),
            seed: chance().next_u64(),
            watch,
            ..worker::Settings::default()
        };
        Ok(Worker::new(
            self.ledger.clone(),
            self.engines.clone(),
            sender,
            Arc::new(Bodies),
            self.worker_metrics.clone(),
            settings,
        ))
    }

    /// Starts what the roles ask for, apart from listeners and the worker: the lease watch and the round.
    ///
    /// # Errors
    /// When the cron expression does not parse.
    pub(crate) fn start_repair(&self, tasks: &TaskTracker, lifecycle: &Lifecycle) -> anyhow::Result<()> {
        if !self.config.has(Role::Worker) && !self.config.has(Role::Reconciler) {
            return Ok(());
        }
        let schedule = cron::Schedule::from_str(&self.config.reconciler_cron)
            .map_err(|error| anyhow::anyhow!("LISTEN_RECONCILER_CRON cannot be read: {error}"))?;
        let settings = reconciler::Settings {
            dispatching: self.config.has(Role::Reconciler)
                && self.config.finalization_dispatch_mode != Dispatch::Inline,
            retention: std::time::Duration::from_secs(self.config.retention_days * 86_400),
            ..reconciler::Settings::default()
        };
        tasks.spawn(reconciler::watch_leases(
            self.ledger.clone(),
            self.config.heartbeat(),
            chance().next_u64(),
            self.reconciler_metrics.clone(),
            lifecycle.soft.clone(),
        ));
        tasks.spawn(reconciler::run(
            self.ledger.clone(),
            settings,
            schedule,
            self.reconciler_metrics.clone(),
            lifecycle.soft.clone(),
        ));
        Ok(())
    }

    /// Starts carrying wake-ups between processes, where bells announce work.
    pub(crate) fn start_wakes(&self, tasks: &TaskTracker, lifecycle: &Lifecycle) {
        if self.config.finalization_dispatch_mode == Dispatch::Inline {
            return;
        }
        let (ledger, stop) = (self.ledger.clone(), lifecycle.soft.clone());
        tasks.spawn(async move { stop.run_until_cancelled(ledger.carry_wakes()).await });
    }

    /// Starts the worker, if this process has the role; its health is a matter of readiness.
    ///
    /// # Errors
    /// When the outgoing client cannot be made.
    pub(crate) fn start_worker(
        &self,
        tasks: &TaskTracker,
        lifecycle: &Lifecycle,
        watch: Arc<dyn Watch>,
    ) -> anyhow::Result<Option<Health>> {
        if !self.config.has(Role::Worker) {
            return Ok(None);
        }
        let worker = self.worker(&process_name(), watch)?;
        let health = worker.health();
        tasks.spawn(worker.run(lifecycle.soft.clone(), lifecycle.hard.clone()));
        Ok(Some(health))
    }
}

/// How to connect, from a URL.
///
/// # Errors
/// When it is not the URL of a PostgreSQL database. The URL itself is not repeated: it may hold a password.
pub(crate) fn database(url: Option<&str>) -> anyhow::Result<PgConnectOptions> {
    let Some(url) = url else {
        return Err(Exit::Unavailable(
            "DATABASE_URL is not set: this command needs a database of yours".to_owned(),
        )
        .into());
    };
    PgConnectOptions::from_str(url)
        .map_err(|_| anyhow::anyhow!("DATABASE_URL is not a PostgreSQL URL (postgresql://…)"))
}

/// Chance comes in here, once per use.
pub(crate) fn chance() -> StdRng {
    #[expect(clippy::disallowed_methods, reason = "this is the door through which chance comes in")]
    StdRng::from_rng(&mut rand::rng())
}

/// What this process is called in leases: its host and its number.
pub(crate) fn process_name() -> String {
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    format!("{host}:{}", std::process::id())
}

/// One crypto library for outgoing calls and the database: ring. Installing it twice is harmless.
fn install_crypto() {
    let _ = rustls::crypto::ring::default_provider().install_default();
}

fn engines(config: &Config, metrics: &worker::Metrics) -> anyhow::Result<Engines> {
    let embedded = Arc::new(Embedded::with_day_order(match config.date_order {
        DateOrder::MonthFirst => DayOrder::MonthFirst,
        DateOrder::DayFirst => DayOrder::DayFirst,
    }));
    let ours = Engines {
        judge: embedded.clone(),
        describe: embedded.clone(),
        items: embedded.clone(),
        memories: embedded.clone(),
        embed: embedded.clone(),
        apps: embedded.clone(),
        same: embedded.clone(),
    };
    if !config.uses_openai() {
        return Ok(ours);
    }
    let count = metrics.clone();
    let mut key = [0; 32];
    chance().fill_bytes(&mut key);
    let openai = Arc::new(
        OpenAi::new(
            OpenAiConfig {
                base_url: config.openai_base_url.clone().unwrap_or_default(),
                api_key: config.openai_api_key.clone().map(SecretString::from),
                model: config.openai_model.clone().unwrap_or_default(),
                embed_model: config.openai_embed_model.clone().unwrap_or_default(),
                timeout: std::time::Duration::from_secs(60),
            },
            Arc::new(move |stage, kind, tokens| count.count_tokens(stage, kind, tokens)),
            key,
        )
        .context("setting up the OpenAI-compatible engine")?,
    );
    Ok(Engines {
        // Noise never reaches a paid model: the embedded judge goes first.
        describe: openai.clone(),
        items: openai.clone(),
        memories: openai.clone(),
        apps: openai.clone(),
        embed: if config.openai_embed_model.is_some() { openai } else { embedded },
        ..ours
    })
}

/// The reconciler counts into the worker's metrics.
struct Counts(worker::Metrics);

impl reconciler::Counts for Counts {
    fn retry(&self) {
        self.0.retries().inc();
    }

    fn dead_letter(&self) {
        self.0.dead_letters().inc();
    }
}

/// The embedded engine finds the categories of memories: no client waits for a model server.
#[derive(Debug)]
struct Categories(Embedded);

impl api::Categorize for Categories {
    fn memory(&self, content: &str) -> records::MemoryCategory {
        stages::CategorizeMemory::category_of(&self.0, content)
    }
}

/// What endpoints are sent has the shapes of `api`.
struct Bodies;

impl worker::Render for Bodies {
    fn body(&self, delivery: &ClaimedDelivery, conversation: Option<&ConversationView>) -> Option<Vec<u8>> {
        api::shapes::WebhookBodies.body(delivery, conversation)
    }
}

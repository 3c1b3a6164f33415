//! The composition root: pools, ledger, engines, outside world, and which role runs where.

mod engines;
mod live;
mod tasks;

use std::{str::FromStr, sync::Arc, time::Duration};

use ::engines::Embedded;
use anyhow::Context;
use axum::Router;
use compute::Pool;
use ledger::{Ledger, Shards};
use outside::{BrowserKeys, Caller, Guard, Sender, Vapid};
use prometheus::Registry;
use rand::Rng;
use stages::Engines;
use tokio_util::task::TaskTracker;
use worker::{ByokRuns, DeliveredRuns, Health, RunObserver, RunSlots, Tools, Worker};

use self::{
    engines::{engine_ids, engines},
    live::LiveParts,
    tasks::TaskParts,
};
use crate::{
    app_servers::Servers,
    chat_apps::ChatApps,
    config::{Config, Dispatch, Role},
    database::Addresses,
    exit,
    lifecycle::Lifecycle,
    ports::{Bodies, Categories, Keyed},
    process::{chance, install_crypto, process_name},
    process_report::RunCounter,
    schedule::longest_gap,
    traces::SpanCounts,
};

/// Everything that one process of the service is made of, wired and not yet running.
pub(crate) struct App {
    pub(crate) config: Config,
    pub(crate) shards: Shards,
    /// What each shard has of its own here, by its number.
    parts: Vec<ShardParts>,
    /// The slots that the shards' workers share.
    slots: Option<RunSlots>,
    /// The threads of what costs processor time.
    pub(crate) compute: Pool,
    pub(crate) registry: Registry,
    guard: Guard,
    /// Calls apps' servers.
    caller: Caller,
    vapid: Option<Vapid>,
    pub(crate) engines: Engines,
    live: LiveParts,
    tasks: TaskParts,
    /// The assistant of this process, without the apps of its users.
    assistant: api::ChatSettings,
    worker_metrics: worker::Metrics,
    reconciler_metrics: reconciler::Metrics,
    api_metrics: api::Metrics,
}

/// What one shard has of its own in a process.
struct ShardParts {
    /// How runs ended in this process, in every kind of worker.
    run_counter: Arc<RunCounter>,
    keyed: ByokRuns,
}

impl App {
    /// Wires a process; nothing connects or listens yet. Of `addresses`, each is a shard's, by their numbers.
    pub(crate) fn wire(config: Config, addresses: Addresses) -> anyhow::Result<Self> {
        exit::refuse(&config.problems())?;
        install_crypto();
        let registry = Registry::new();
        let worker_metrics = worker::Metrics::new(&registry).context("registering metrics")?;
        let (retries, dead_letters) =
            (worker_metrics.retries().clone(), worker_metrics.dead_letters().clone());
        let reconciler_metrics =
            reconciler::Metrics::new(&registry, retries, dead_letters).context("registering metrics")?;
        let api_metrics = api::Metrics::register(&registry).context("registering metrics")?;
        let settings = ledger::Settings {
            connections: config.database_connections,
            policy: config.policy(),
            budgets: config.budgets(),
            live_queue: config.live_queue(),
            secrets: config.apps.secrets()?,
            ..ledger::Settings::default()
        };
        let shards = Shards::new(addresses, &settings);
        let slots = (shards.count() > 1)
            .then(|| RunSlots::new(config.finalization_concurrency, config.creation_concurrency));
        let compute = Pool::for_this_machine().context("starting threads")?;
        let (engines, with_key, assistant) = engines(&config, &worker_metrics, compute.clone())?;
        let guard = Guard::new(config.allow_outgoing.clone());
        let caller = Caller::new(guard.clone()).context("making the client for apps")?;
        let vapid = config.vapid()?;
        let (mut parts, mut runs) = (Vec::new(), Vec::new());
        for ledger in shards.iter() {
            let run_counter = Arc::new(RunCounter::default());
            let settings = run_settings(&config, slots.as_ref(), &process_name(), run_counter.clone());
            let metrics = worker_metrics.clone();
            runs.push(DeliveredRuns::new(ledger.clone(), engines.clone(), metrics.clone(), &settings));
            let keyed = ByokRuns::new(ledger.clone(), with_key.clone(), metrics, settings);
            parts.push(ShardParts { run_counter, keyed });
        }
        let tasks = TaskParts::wire(&config, &registry, &worker_metrics, runs)?;
        let live = LiveParts::wire(&config, &registry, worker_metrics.clone(), &shards, &guard)?;
        Ok(Self {
            config,
            shards,
            parts,
            slots,
            compute,
            registry,
            guard,
            caller,
            vapid,
            engines,
            live,
            tasks,
            assistant,
            worker_metrics,
            reconciler_metrics,
            api_metrics,
        })
    }

    /// Shows what becomes of spans: nothing at all, where traces are off.
    pub(crate) fn show_spans(&self, spans: Option<SpanCounts>) -> anyhow::Result<()> {
        let spans = spans.map_or_else(SpanCounts::new, Ok);
        spans.and_then(|spans| spans.register(&self.registry)).context("registering metrics")
    }

    /// How long requests in flight may take once the process is to stop: as long as a create waits, and a little more.
    pub(crate) fn shutdown_grace(&self) -> Duration {
        Duration::from_secs(self.config.create_wait_seconds + 2)
    }

    /// The public routes.
    pub(crate) fn router(&self) -> Router {
        let guard = self.guard.clone();
        let check_url = Arc::new(move |url: &str| guard.check_url(url).is_ok());
        let (invokers, deliveries) = self.tasks.ports();
        let settings = api::Settings {
            invokers,
            deliveries,
            run_timeout: Duration::from_secs(self.config.finalization_run_timeout_seconds.unsigned_abs()),
            only_deliveries: !self.config.has(Role::Api),
            create_wait: Duration::from_secs(self.config.create_wait_seconds),
            rate_per_minute: self.config.rate_per_minute,
            app_rate_per_minute: self.config.apps.app_rate_per_minute,
            memory_budget: self.config.memory_budget.bytes(),
            vendor_sources: self.config.vendors(),
            finalize_enabled: self.config.finalization_dispatch_mode != Dispatch::Inline,
            cors_origins: self.config.cors_origins.clone(),
            web_push: self.vapid.as_ref().map(|vapid| api::WebPush {
                public_key: vapid.public_key().to_owned(),
                check_keys: Arc::new(|p256dh, auth| BrowserKeys::new(p256dh, auth).is_ok()),
            }),
            keyed: Arc::new(Keyed(self.parts.iter().map(|parts| parts.keyed.clone()).collect())),
            categorize: Arc::new(Categories(Embedded::new())),
            app_servers: Arc::new(Servers(self.caller.clone())),
            apps: self.config.apps.mode(),
            follows_prompts: self.engines.apps.follows_prompts(),
            live: self.live.settings(&self.config),
            chat: api::ChatSettings { apps: self.chat_apps(), ..self.assistant.clone() },
            engines: engine_ids(&self.engines),
            ..api::Settings::default()
        };
        api::router(self.shards.clone(), check_url, settings, self.api_metrics.clone())
    }

    /// How runs of a shard ended in this process.
    pub(crate) fn run_counter(&self, ledger: &Ledger) -> Arc<RunCounter> {
        let parts = self.parts.get(usize::from(ledger.db().shard().number));
        parts.map(|parts| parts.run_counter.clone()).unwrap_or_default()
    }

    /// A shard's worker in this process, with an observer of its runs.
    fn worker(&self, ledger: &Ledger, observer: Arc<dyn RunObserver>) -> anyhow::Result<Worker> {
        let sender = Sender::new(self.guard.clone()).context("making the outgoing client")?;
        let settings = run_settings(&self.config, self.slots.as_ref(), &process_name(), observer);
        let settings = worker::Settings { vapid: self.vapid.clone(), ..settings };
        Ok(Worker {
            ledger: ledger.clone(),
            engines: self.engines.clone(),
            sender,
            render: Arc::new(Bodies),
            metrics: self.worker_metrics.clone(),
            settings,
            health: Health::default(),
        })
    }

    /// The apps of users, for the assistant.
    fn chat_apps(&self) -> Arc<dyn api::ChatApps> {
        let (shards, allowed) = (self.shards.clone(), self.config.apps.are_on());
        let (caller, metrics) = (self.caller.clone(), self.worker_metrics.clone());
        let (timeout, seed) = (self.config.apps.tool_timeout(), chance().next_u64());
        let caller = Tools::new(shards.clone(), caller, timeout, metrics, seed).allowed(allowed);
        Arc::new(ChatApps { shards, caller, allowed })
    }

    /// Starts what turns of the assistant need, in a process that takes requests.
    pub(crate) fn start_chat(&self, tasks: &TaskTracker, lifecycle: &Lifecycle) {
        if self.config.has(Role::Api) {
            tasks.spawn(self.assistant.chat.clone().run(lifecycle.soft.clone(), lifecycle.hard.clone()));
        }
    }

    /// Starts what the runs with users' own keys need, in a process that takes requests.
    pub(crate) fn start_keyed(&self, tasks: &TaskTracker, lifecycle: &Lifecycle) {
        if self.config.has(Role::Api) {
            for parts in &self.parts {
                tasks.spawn(parts.keyed.clone().run(lifecycle.soft.clone(), lifecycle.hard.clone()));
            }
        }
    }

    /// Starts what the roles ask for in a shard, apart from listeners and the worker: the lease watch (everybody who runs jobs
    /// or repairs them, the API's keyed runs included) and the round.
    pub(crate) fn start_repair(
        &self,
        ledger: &Ledger,
        tasks: &TaskTracker,
        lifecycle: &Lifecycle,
    ) -> anyhow::Result<()> {
        tasks.spawn(reconciler::watch_leases(
            ledger.clone(),
            self.config.heartbeat(),
            chance().next_u64(),
            self.reconciler_metrics.clone(),
            lifecycle.soft.clone(),
        ));
        self.watch_live(ledger, tasks, lifecycle);
        if !self.config.has(Role::Worker) && !self.config.has(Role::Reconciler) {
            return Ok(());
        }
        let schedule = cron::Schedule::from_str(&self.config.reconciler_cron)
            .map_err(|error| anyhow::anyhow!("LISTEN_RECONCILER_CRON cannot be read: {error}"))?;
        let settings = reconciler::Settings {
            records_rounds: self.config.has(Role::Reconciler)
                || self.config.finalization_dispatch_mode == Dispatch::Inline,
            retention: Duration::from_secs(self.config.retention_days * 86_400),
            apart: reconciler::apart(chance().next_u64(), between(&schedule)),
            every: longest_gap(&schedule),
            tasks: self.tasks.for_reconciler().filter(|_| self.config.has(Role::Reconciler)),
            ..reconciler::Settings::default()
        };
        if self.config.has(Role::Reconciler) {
            let operations = operations::Operations::new(ledger);
            tasks.spawn(reconciler::work_off_replays(operations, process_name(), lifecycle.soft.clone()));
        }
        tasks.spawn(reconciler::run(
            ledger.clone(),
            settings,
            schedule,
            self.reconciler_metrics.clone(),
            lifecycle.soft.clone(),
        ));
        Ok(())
    }

    /// Starts carrying a shard's wake-ups between processes, unless they poll only.
    pub(crate) fn start_wakes(&self, ledger: &Ledger, tasks: &TaskTracker, lifecycle: &Lifecycle) {
        if self.config.polls_only() {
            return;
        }
        let (ledger, stop) = (ledger.clone(), lifecycle.soft.clone());
        tasks.spawn(async move { stop.run_until_cancelled(ledger.db().carry_wakes()).await });
    }

    /// Starts the worker of a shard, if this process has the role; its health is a matter of readiness.
    pub(crate) fn start_worker(
        &self,
        ledger: &Ledger,
        tasks: &TaskTracker,
        lifecycle: &Lifecycle,
        observer: Arc<dyn RunObserver>,
    ) -> anyhow::Result<Option<Health>> {
        if !self.config.has(Role::Worker) {
            return Ok(None);
        }
        let worker = self.worker(ledger, observer)?;
        tasks.spawn(worker::index(ledger.clone(), lifecycle.soft.clone()));
        let health = worker.health.clone();
        tasks.spawn(worker.run(lifecycle.soft.clone(), lifecycle.hard.clone()));
        Ok(Some(health))
    }
}

/// How runs go in this process, those of the worker as well as keyed ones.
fn run_settings(
    config: &Config,
    slots: Option<&RunSlots>,
    name: &str,
    observer: Arc<dyn RunObserver>,
) -> worker::Settings {
    worker::Settings {
        finalization_concurrency: config.finalization_concurrency,
        claims_finalizations: config.finalization_dispatch_mode != Dispatch::CloudTasks,
        creation_concurrency: config.creation_concurrency,
        shared_slots: slots.cloned(),
        heartbeat: config.heartbeat(),
        worker_name: name.to_owned(),
        pause_after: config.pause_after(),
        apps: config.apps.are_on(),
        seed: chance().next_u64(),
        observer,
        ..worker::Settings::default()
    }
}

/// How long it is between the next two ticks.
fn between(schedule: &cron::Schedule) -> Duration {
    let mut ticks = schedule.upcoming(chrono::Utc);
    let next_two = ticks.next().zip(ticks.next());
    next_two.and_then(|(one, other)| (other - one).to_std().ok()).unwrap_or(Duration::MAX)
}

#[cfg(test)]
mod tests;

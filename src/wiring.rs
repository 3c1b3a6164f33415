//! The composition root: pools, ledger, engines, outside world, and which role runs where.

mod live;
mod shapes;
mod tasks;

use std::{
    str::FromStr,
    sync::{Arc, LazyLock},
    time::Duration,
};

use anyhow::Context;
use assistant::Converse;
use axum::Router;
use compute::Pool;
use engines::{DayOrder, Embedded, Meter, OpenAi, OpenAiConfig, Patience};
use ledger::Ledger;
use outside::{Caller, Guard, Sender, Vapid};
use prometheus::Registry;
use rand::{Rng, SeedableRng, rngs::StdRng};
use secrecy::SecretString;
use sqlx::postgres::PgConnectOptions;
use stages::Engines;
use tokio_util::task::TaskTracker;
use worker::{ByokRuns, DeliveredRuns, EnginesWithKey, Health, RunObserver, Tools, Worker};

use self::{
    live::LiveParts,
    shapes::{Bodies, Categories, web_push},
    tasks::TaskParts,
};
use crate::{
    app_servers::Servers,
    assistant::AssistantEngines,
    chat_apps::ChatApps,
    config::{Config, DateOrder, Dispatch, Role},
    exit,
    keyed::Keyed,
    lifecycle::Lifecycle,
    process_report::RunCounter,
    schedule::longest_gap,
    traces::SpanCounts,
};

/// Everything that one process of the service is made of, wired and not yet running.
pub(crate) struct App {
    pub(crate) config: Config,
    pub(crate) ledger: Ledger,
    /// The threads of what costs processor time.
    pub(crate) compute: Pool,
    pub(crate) registry: Registry,
    /// How runs ended in this process, in every kind of worker.
    pub(crate) run_counter: Arc<RunCounter>,
    guard: Guard,
    /// Calls apps' servers.
    caller: Caller,
    vapid: Option<Vapid>,
    engines: Engines,
    keyed: ByokRuns,
    live: LiveParts,
    tasks: TaskParts,
    /// The turns of the assistant in this process.
    pub(crate) chat: api::Chat,
    assistant: AssistantEngines,
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
        exit::refuse(&config.problems())?;
        install_crypto();
        let registry = Registry::new();
        let worker_metrics = worker::Metrics::new(&registry).context("registering metrics")?;
        let counts = Arc::new(Counts(worker_metrics.clone()));
        let reconciler_metrics =
            reconciler::Metrics::new(&registry, counts).context("registering metrics")?;
        let api_metrics = api::Metrics::register(&registry).context("registering metrics")?;
        let ledger = Ledger::new(
            database,
            ledger::Settings {
                connections: config.database_connections,
                policy: config.policy(),
                budgets: config.budgets(),
                live_queue: config.live_queue(),
                secrets: config.apps.secrets()?,
            },
        );
        let compute = Pool::for_this_machine().context("starting threads")?;
        let (engines, with_key, assistant) = engines(&config, &worker_metrics, compute.clone())?;
        let guard = Guard::new(config.allow_outgoing.clone());
        let caller = Caller::new(guard.clone()).context("making the client for apps")?;
        let vapid = config.vapid()?;
        let run_counter = Arc::new(RunCounter::default());
        let settings = run_settings(&config, &process_name(), run_counter.clone());
        let runs = DeliveredRuns::new(ledger.clone(), engines.clone(), worker_metrics.clone(), &settings);
        let tasks = TaskParts::wire(&config, &registry, &worker_metrics, runs)?;
        let keyed = ByokRuns::new(ledger.clone(), with_key, worker_metrics.clone(), settings);
        let live = LiveParts::wire(&config, &registry, &ledger, &guard)?;
        Ok(Self {
            config,
            ledger,
            compute,
            registry,
            run_counter,
            guard,
            caller,
            vapid,
            engines,
            keyed,
            live,
            tasks,
            chat: api::Chat::new(),
            assistant,
            worker_metrics,
            reconciler_metrics,
            api_metrics,
        })
    }

    /// Shows what becomes of spans: nothing at all, where traces are off.
    ///
    /// # Errors
    /// When it is shown already.
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
        let vendors = match self.config.vendor_sources.is_empty() {
            true => records::Source::VENDORS.iter().map(ToString::to_string).collect(),
            false => self.config.vendor_sources.clone(),
        };
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
            vendor_sources: vendors,
            finalize_enabled: self.config.finalization_dispatch_mode != Dispatch::Inline,
            cors_origins: self.config.cors_origins.clone(),
            web_push: self.vapid.as_ref().map(web_push),
            keyed: Arc::new(Keyed(self.keyed.clone())),
            categorize: Arc::new(Categories(Embedded::new())),
            app_servers: Arc::new(Servers(self.caller.clone())),
            apps: self.config.apps.mode(),
            follows_prompts: self.engines.apps.follows_prompts(),
            live: self.live.settings(&self.config),
            chat: self.assistant.settings(&self.chat, self.chat_apps()),
            engines: engine_ids(&self.engines),
            ..api::Settings::default()
        };
        api::router(self.ledger.clone(), check_url, settings, self.api_metrics.clone())
    }

    /// A worker of this process, with an observer of its runs.
    ///
    /// # Errors
    /// When the outgoing client cannot be made.
    pub(crate) fn worker(&self, name: &str, observer: Arc<dyn RunObserver>) -> anyhow::Result<Worker> {
        let sender = Sender::new(self.guard.clone()).context("making the outgoing client")?;
        let settings =
            worker::Settings { vapid: self.vapid.clone(), ..run_settings(&self.config, name, observer) };
        Ok(Worker::new(
            self.ledger.clone(),
            self.engines.clone(),
            sender,
            Arc::new(Bodies),
            self.worker_metrics.clone(),
            settings,
        ))
    }

    /// The apps of users, for the assistant.
    fn chat_apps(&self) -> Arc<dyn api::ChatApps> {
        let (ledger, allowed) = (self.ledger.clone(), self.config.apps.are_on());
        let (caller, metrics) = (self.caller.clone(), self.worker_metrics.clone());
        let (timeout, seed) = (self.config.apps.tool_timeout(), chance().next_u64());
        let tools = Tools::new(ledger.clone(), caller, timeout, metrics, seed);
        Arc::new(ChatApps { ledger, caller: Arc::new(tools.allowed(allowed)), allowed })
    }

    /// Starts what the runs with users' own keys need, in a process that takes requests.
    pub(crate) fn start_keyed(&self, tasks: &TaskTracker, lifecycle: &Lifecycle) {
        if self.config.has(Role::Api) {
            tasks.spawn(self.keyed.clone().run(lifecycle.soft.clone(), lifecycle.hard.clone()));
        }
    }

    /// Starts what the roles ask for, apart from listeners and the worker: the lease watch (everybody who runs jobs
    /// or repairs them, the API's keyed runs included) and the round.
    ///
    /// # Errors
    /// When the cron expression does not parse.
    pub(crate) fn start_repair(&self, tasks: &TaskTracker, lifecycle: &Lifecycle) -> anyhow::Result<()> {
        tasks.spawn(reconciler::watch_leases(
            self.ledger.clone(),
            self.config.heartbeat(),
            chance().next_u64(),
            self.reconciler_metrics.clone(),
            lifecycle.soft.clone(),
        ));
        self.watch_live(tasks, lifecycle);
        if !self.config.has(Role::Worker) && !self.config.has(Role::Reconciler) {
            return Ok(());
        }
        let schedule = cron::Schedule::from_str(&self.config.reconciler_cron)
            .map_err(|error| anyhow::anyhow!("LISTEN_RECONCILER_CRON cannot be read: {error}"))?;
        let settings = reconciler::Settings {
            dispatch: match (self.config.finalization_dispatch_mode, self.config.has(Role::Reconciler)) {
                (Dispatch::Inline, _) => reconciler::Dispatch::Nobody,
                (_, true) => reconciler::Dispatch::Ours,
                (_, false) => reconciler::Dispatch::Others,
            },
            retention: Duration::from_secs(self.config.retention_days * 86_400),
            apart: reconciler::apart(chance().next_u64(), between(&schedule)),
            every: longest_gap(&schedule),
            tasks: self.tasks.for_reconciler().filter(|_| self.config.has(Role::Reconciler)),
            ..reconciler::Settings::default()
        };
        if self.config.has(Role::Reconciler) {
            let operations = operations::Operations::new(&self.ledger);
            tasks.spawn(reconciler::work_off_replays(operations, process_name(), lifecycle.soft.clone()));
        }
        tasks.spawn(reconciler::run(
            self.ledger.clone(),
            settings,
            schedule,
            self.reconciler_metrics.clone(),
            lifecycle.soft.clone(),
        ));
        Ok(())
    }

    /// Starts carrying wake-ups between processes; in the mode `inline` they poll.
    pub(crate) fn start_wakes(&self, tasks: &TaskTracker, lifecycle: &Lifecycle) {
        if self.config.finalization_dispatch_mode == Dispatch::Inline {
            return;
        }
        let (ledger, stop) = (self.ledger.clone(), lifecycle.soft.clone());
        tasks.spawn(async move { stop.run_until_cancelled(ledger.db().carry_wakes()).await });
    }

    /// Starts the worker, if this process has the role; its health is a matter of readiness.
    ///
    /// # Errors
    /// When the outgoing client cannot be made.
    pub(crate) fn start_worker(
        &self,
        tasks: &TaskTracker,
        lifecycle: &Lifecycle,
        observer: Arc<dyn RunObserver>,
    ) -> anyhow::Result<Option<Health>> {
        if !self.config.has(Role::Worker) {
            return Ok(None);
        }
        let worker = self.worker(&process_name(), observer)?;
        tasks.spawn(worker::index_conversations(self.ledger.clone(), lifecycle.soft.clone()));
        let health = worker.health();
        tasks.spawn(worker.run(lifecycle.soft.clone(), lifecycle.hard.clone()));
        Ok(Some(health))
    }
}

/// The target under which the driver logs what the server notices.
pub(crate) const NOTICES: &str = "sqlx::postgres::notice";

/// Chance comes in here, once per use.
pub(crate) fn chance() -> StdRng {
    #[expect(clippy::disallowed_methods, reason = "this is the door through which chance comes in")]
    StdRng::from_rng(&mut rand::rng())
}

/// What this process is called, in leases and wherever it speaks of itself: the same as long as it lives.
pub(crate) fn process_name() -> String {
    static NAME: LazyLock<String> = LazyLock::new(|| {
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        named(&host, std::process::id(), &mut chance())
    });
    NAME.clone()
}

/// Host and number, for people, and a word of chance: containers that share a host's name are all number 1 of it, and so is
/// the next one after a restart.
fn named(host: &str, number: u32, chance: &mut StdRng) -> String {
    format!("{host}:{number}-{:06x}", chance.next_u32() >> 8)
}

/// One crypto library for outgoing calls and the database: ring. Installing it twice is harmless.
pub(crate) fn install_crypto() {
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// How runs go in this process, those of the worker as well as keyed ones.
fn run_settings(config: &Config, name: &str, observer: Arc<dyn RunObserver>) -> worker::Settings {
    worker::Settings {
        finalization_concurrency: config.finalization_concurrency,
        claims_finalizations: config.finalization_dispatch_mode != Dispatch::CloudTasks,
        creation_concurrency: config.creation_concurrency,
        heartbeat: config.heartbeat(),
        worker_name: name.to_owned(),
        pause_after: config.pause_after(),
        apps: config.apps.are_on(),
        seed: chance().next_u64(),
        observer,
        ..worker::Settings::default()
    }
}

/// The engines of the service, and those of a run with its user's key, which is for the configured model server alone.
fn engines(
    config: &Config,
    metrics: &worker::Metrics,
    compute: Pool,
) -> anyhow::Result<(Engines, EnginesWithKey, AssistantEngines)> {
    let order = match config.date_order {
        DateOrder::MonthFirst => DayOrder::MonthFirst,
        DateOrder::DayFirst => DayOrder::DayFirst,
    };
    let embedded = Arc::new(Embedded::with_day_order(order).on_pool(compute));
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
        let without_server = ours.clone();
        let rules: Arc<dyn Converse> = embedded;
        let none = AssistantEngines { engine: rules.clone(), embedded: rules, with_key: Arc::new(|_| None) };
        return Ok((ours, Arc::new(move |_| Some(without_server.clone())), none));
    }
    let mut key = [0; 32];
    chance().fill_bytes(&mut key);
    let openai = OpenAi::new(
        OpenAiConfig {
            base_url: config.openai_base_url.clone().unwrap_or_default(),
            api_key: config.openai_api_key.clone().map(SecretString::from),
            model: config.openai_model.clone().unwrap_or_default(),
            embed_model: config.openai_embed_model.clone().unwrap_or_default(),
            patience: Patience::default(),
            context_tokens: config.openai_context_tokens,
        },
        Arc::new(ModelMeter(metrics.clone())),
        key,
    )
    .context("setting up the OpenAI-compatible engine")?
    .following_prompts(config.apps.are_on())
    .seeing_with(config.openai_vision_model.as_deref());
    let (embeds, asked) = (config.openai_embed_model.is_some(), openai.clone());
    let assistant = AssistantEngines {
        engine: Arc::new(openai.clone()),
        embedded,
        with_key: Arc::new(move |key: &SecretString| {
            Some(Arc::new(asked.with_users_key(key).ok()?) as Arc<dyn Converse>)
        }),
    };
    let service = paid(&ours, openai.clone(), embeds);
    let with_key = move |key: &SecretString| Some(paid(&ours, openai.with_users_key(key).ok()?, embeds));
    Ok((service, Arc::new(with_key), assistant))
}

/// A paid engine beside ours. Noise never reaches it: the embedded judge goes first.
fn paid(ours: &Engines, openai: OpenAi, embeds: bool) -> Engines {
    let openai = Arc::new(openai);
    Engines {
        describe: openai.clone(),
        items: openai.clone(),
        memories: openai.clone(),
        apps: openai.clone(),
        embed: if embeds { openai } else { ours.embed.clone() },
        ..ours.clone()
    }
}

/// Which engine does what, for `/v1/status`: no engine's output passes for another's.
fn engine_ids(engines: &Engines) -> Vec<(&'static str, String)> {
    let ids = [
        ("detect_discard", engines.judge.id()),
        ("describe", engines.describe.id()),
        ("extract_action_items", engines.items.id()),
        ("extract_memories", engines.memories.id()),
        ("embed", engines.embed.embed_id()),
        ("trigger_apps", engines.apps.id()),
    ];
    ids.map(|(ability, id)| (ability, id.to_owned())).to_vec()
}

/// The engine counts into the worker's metrics.
struct ModelMeter(worker::Metrics);

impl Meter for ModelMeter {
    fn tokens(&self, stage: &'static str, kind: &'static str, tokens: u64) {
        self.0.count_tokens(stage, kind, tokens);
    }

    fn called(&self, stage: &'static str, outcome: &'static str) {
        self.0.count_call(stage, outcome);
    }

    fn circuit(&self, is_open: bool) {
        self.0.show_circuit(is_open);
    }
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

/// How long it is between the next two ticks.
fn between(schedule: &cron::Schedule) -> Duration {
    let mut ticks = schedule.upcoming(chrono::Utc);
    let next_two = ticks.next().zip(ticks.next());
    next_two.and_then(|(one, other)| (other - one).to_std().ok()).unwrap_or(Duration::MAX)
}

#[cfg(test)]
mod tests;

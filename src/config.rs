//! Configuration: flag, then environment, then file, then default (DECISIONS §7). Impossible combinations are
//! refused at start, all of them at once.

mod apps;
pub(crate) mod console_access;
mod effective;
mod limits;
mod live;
pub(crate) mod shards;
mod size;
mod tasks;

use std::{net::SocketAddr, time::Duration};

use clap::{Args, ValueEnum};
use ipnet::IpNet;
use job::Policy;
use outside::{BadVapid, Vapid};
use records::Source;
use secrecy::SecretString;
use store::Budgets;

pub(crate) use self::{
    apps::{Apps, AppsConfig, secrets},
    console_access::ConsoleAccess,
    effective::{Setting, effective, is_setting},
    limits::range,
    live::{LiveConfig, Switch},
    shards::ShardsConfig,
    size::Size,
    tasks::TasksConfig,
};

use crate::{connections::Limits, traces::TraceSettings};

/// A role of `serve`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Role {
    /// Answers requests.
    Api,
    /// Runs jobs, sends webhooks and reminders.
    Worker,
    /// Repairs on a schedule, runs bulk replays.
    Reconciler,
}

/// How finalizations reach a worker (DESIGN §5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum Dispatch {
    /// Finalize answers 503; creates and reprocess are claimed from the job table.
    Inline,
    /// Finalizations, too, are claimed from the job table.
    Postgres,
    /// Finalizations are handed to a task queue, which delivers them by HTTP.
    CloudTasks,
}

/// Who understands text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TextEngine {
    /// The OpenAI-compatible one where a base URL or key is set, else the embedded one.
    Auto,
    /// Ours: no network, no key.
    Embedded,
    /// Any server that speaks the OpenAI API.
    Openai,
}

/// How the embedded engine reads 5/6.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DateOrder {
    /// May 6th.
    MonthFirst,
    /// The 5th of June.
    DayFirst,
}

/// Sessions of the database besides `LISTEN_DATABASE_CONNECTIONS`: two renew leases, one listens for wake-ups.
const BESIDES: u32 = 3;

/// Everything that can be set. The name of a setting in a file is its flag's, with `_` for `-`.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Settings")]
pub(crate) struct Config {
    /// PostgreSQL's address, or those of a primary and its standbys, with commas between the hosts; `dev` and `demo` use a private
    /// server by default [URL].
    #[arg(long, env = "DATABASE_URL", hide_env_values = true, value_name = "URL")]
    pub(crate) database_url: Option<String>,
    /// Database sessions, besides two for lease renewals and one that listens for wake-ups; with several shards, 4 for each
    /// shard, and more has no effect.
    #[arg(long, env = "LISTEN_DATABASE_CONNECTIONS", default_value_t = 10, value_name = "N")]
    pub(crate) database_connections: u32,
    /// Poll each second for what other processes queue instead of listening for it: for a pooler in transaction mode, which must keep
    /// prepared statements.
    #[arg(long, env = "LISTEN_POLL_ONLY", default_value = "off", value_name = "SWITCH")]
    pub(crate) poll_only: Switch,
    /// Address of the public API.
    #[arg(long, env = "LISTEN_ADDR", default_value = "127.0.0.1:8080", value_name = "IP:PORT", value_parser = address)]
    pub(crate) addr: SocketAddr,
    /// Address of metrics, health and the console.
    #[arg(long, env = "LISTEN_ADMIN_ADDR", default_value = "127.0.0.1:8081", value_name = "IP:PORT", value_parser = address)]
    pub(crate) admin_addr: SocketAddr,
    /// Roles of this process.
    #[arg(
        long,
        env = "LISTEN_ROLES",
        value_delimiter = ',',
        default_value = "api,worker,reconciler",
        value_name = "ROLES"
    )]
    pub(crate) roles: Vec<Role>,
    /// How finalizations reach a worker; `postgres` and `cloud_tasks` are durable, `inline` serves a single process.
    #[arg(long, env = "LISTEN_FINALIZATION_DISPATCH_MODE", default_value = "inline", value_name = "MODE")]
    pub(crate) finalization_dispatch_mode: Dispatch,
    /// Concurrent runs from the queue `finalization`.
    #[arg(long, env = "LISTEN_FINALIZATION_CONCURRENCY", default_value_t = 4, value_name = "N")]
    pub(crate) finalization_concurrency: usize,
    /// Concurrent runs from the queue `creation`.
    #[arg(long, env = "LISTEN_CREATION_CONCURRENCY", default_value_t = 4, value_name = "N")]
    pub(crate) creation_concurrency: usize,
    /// How long a create waits for its job [seconds].
    #[arg(long, env = "LISTEN_CREATE_WAIT_SECONDS", default_value_t = 25, value_name = "S")]
    pub(crate) create_wait_seconds: u64,
    /// How long the public address accepts connections after the first signal to stop, for load balancers to notice [seconds].
    #[arg(long, env = "LISTEN_DRAIN_SECONDS", default_value_t = 0, value_name = "S")]
    pub(crate) drain_seconds: u64,
    /// Failed runs until a job is a dead letter.
    #[arg(long, env = "LISTEN_FINALIZATION_MAX_ATTEMPTS", default_value_t = 5, value_name = "N")]
    pub(crate) finalization_max_attempts: u32,
    /// Expired leases until a job is a dead letter.
    #[arg(long, env = "LISTEN_FINALIZATION_MAX_CRASHES", default_value_t = 5, value_name = "N")]
    pub(crate) finalization_max_crashes: u32,
    /// Requests per minute for one user in one process, by all keys together; 0 is no limit.
    #[arg(long, env = "LISTEN_RATE_PER_MINUTE", default_value_t = 600, value_name = "N")]
    pub(crate) rate_per_minute: u32,
    /// Conversations that a user may create per UTC day, unless set for the user; 429 beyond; 0 is no limit.
    #[arg(long, env = "LISTEN_USER_CONVERSATIONS_PER_DAY", default_value_t = 100_000, value_name = "N")]
    pub(crate) user_conversations_per_day: u32,
    /// Bytes of text and pictures of conversations that a user may have stored, unless set for the user; 422 beyond; 0 is no limit.
    /// Chat messages, memories and action items do not count.
    #[arg(long, env = "LISTEN_USER_BYTES", default_value = "10GiB", value_name = "SIZE")]
    pub(crate) user_bytes: Size,
    /// Jobs of a user that may wait or run, unless set for the user; 429 beyond; 0 is no limit.
    #[arg(long, env = "LISTEN_USER_WAITING_JOBS", default_value_t = 20_000, value_name = "N")]
    pub(crate) user_waiting_jobs: u32,
    /// Memory for request bodies and unsent answers over 16 KiB and pictures of live sockets, a quarter of it for one user; 503 beyond.
    #[arg(long, env = "LISTEN_MEMORY_BUDGET", default_value = "256MiB", value_name = "SIZE")]
    pub(crate) memory_budget: Size,
    /// Concurrent connections to the public address; fewer if the process may not open as many files.
    #[arg(long, env = "LISTEN_CONNECTIONS", default_value_t = 1_024, value_name = "N")]
    pub(crate) connections: usize,
    /// Concurrent connections from one address (IPv6: one /64); behind a proxy, raise it to `connections`.
    #[arg(long, env = "LISTEN_CONNECTIONS_PER_ADDRESS", default_value_t = 256, value_name = "N")]
    pub(crate) connections_per_address: usize,
    /// How long finished jobs, deliveries and operator actions are kept; set the same value in every process, the smallest wins [days].
    #[arg(long, env = "LISTEN_RETENTION_DAYS", default_value_t = 30, value_name = "DAYS")]
    pub(crate) retention_days: u64,
    /// How long a lease lasts without renewal [seconds].
    #[arg(long, env = "LISTEN_FINALIZATION_LEASE_SECONDS", default_value_t = 30, value_name = "S")]
    pub(crate) finalization_lease_seconds: i64,
    /// How often leases are renewed [seconds].
    #[arg(long, env = "LISTEN_FINALIZATION_HEARTBEAT_SECONDS", default_value_t = 10, value_name = "S")]
    pub(crate) finalization_heartbeat_seconds: u64,
    /// How long one run may take [seconds].
    #[arg(long, env = "LISTEN_FINALIZATION_RUN_TIMEOUT_SECONDS", default_value_t = 1_500, value_name = "S")]
    pub(crate) finalization_run_timeout_seconds: i64,
    /// After how long an unclaimed queued job is checked [seconds].
    #[arg(long, env = "LISTEN_FINALIZATION_STALE_SECONDS", default_value_t = 300, value_name = "S")]
    pub(crate) finalization_stale_seconds: i64,
    /// When the reconciler runs, besides at start: second minute hour day month weekday.
    #[arg(long, env = "LISTEN_RECONCILER_CRON", default_value = "0 */5 * * * *", value_name = "CRON")]
    pub(crate) reconciler_cron: String,
    /// Engine for text; `auto` is `openai` if its URL or key is set, else `embedded`.
    #[arg(long, env = "LISTEN_TEXT_ENGINE", default_value = "auto", value_name = "ENGINE")]
    pub(crate) text_engine: TextEngine,
    /// How the embedded engine reads dates such as 5/6.
    #[arg(long, env = "LISTEN_DATE_ORDER", default_value = "month-first", value_name = "ORDER")]
    pub(crate) date_order: DateOrder,
    /// OpenAI-compatible server, up to and including its version path.
    #[arg(long, env = "LISTEN_OPENAI_BASE_URL", value_name = "URL")]
    pub(crate) openai_base_url: Option<String>,
    /// Key for that server.
    #[arg(long, env = "LISTEN_OPENAI_API_KEY", hide_env_values = true, value_name = "KEY")]
    pub(crate) openai_api_key: Option<String>,
    /// Its model for text, required with that server.
    #[arg(long, env = "LISTEN_OPENAI_MODEL", value_name = "MODEL")]
    pub(crate) openai_model: Option<String>,
    /// Its model for embeddings; without one, the embedded engine makes them.
    #[arg(long, env = "LISTEN_OPENAI_EMBED_MODEL", value_name = "MODEL")]
    pub(crate) openai_embed_model: Option<String>,
    /// Its model for pictures; without one, pictures of live conversations have no description.
    #[arg(long, env = "LISTEN_OPENAI_VISION_MODEL", value_name = "MODEL")]
    pub(crate) openai_vision_model: Option<String>,
    /// Key that signs web push: base64url of a P-256 private key (32 bytes); without it browsers get no reminders.
    #[arg(long, env = "LISTEN_VAPID_PRIVATE_KEY", hide_env_values = true, value_name = "KEY")]
    pub(crate) vapid_private_key: Option<String>,
    /// Contact for push services: mailto:… or https://….
    #[arg(long, env = "LISTEN_VAPID_SUBJECT", value_name = "URL")]
    pub(crate) vapid_subject: Option<String>,
    /// Context of the model for text, prompt and answer; longer conversations are read in parts [tokens].
    #[arg(long, env = "LISTEN_OPENAI_CONTEXT_TOKENS", default_value_t = 16_384, value_name = "N")]
    pub(crate) openai_context_tokens: u32,
    /// Address ranges that users' URLs may reach besides public ones; `dev` and `demo` allow loopback.
    #[arg(long, env = "LISTEN_ALLOW_OUTGOING", value_delimiter = ',', value_name = "CIDR,…", value_parser = network)]
    pub(crate) allow_outgoing: Vec<IpNet>,
    /// Vendor names accepted as `source`, besides the eight generic ones, instead of the twelve that are built in.
    #[arg(long, env = "LISTEN_VENDOR_SOURCES", value_delimiter = ',', value_name = "NAME,…")]
    vendor_sources: Vec<String>,
    /// Origins whose scripts may call the API from a browser.
    #[arg(long, env = "LISTEN_CORS_ORIGINS", value_delimiter = ',', value_name = "ORIGIN,…")]
    pub(crate) cors_origins: Vec<String>,
    /// Console keys: NAME=reader:SHA256 or NAME=operator:SHA256, with the hash of each key.
    #[arg(
        long,
        env = "LISTEN_CONSOLE_KEYS",
        hide_env_values = true,
        value_delimiter = ',',
        value_name = "KEY,…"
    )]
    pub(crate) console_keys: Vec<String>,
    /// Instead of console keys: the header in which an authenticating proxy names the visitor.
    #[arg(long, env = "LISTEN_CONSOLE_USER_HEADER", value_name = "HEADER")]
    pub(crate) console_user_header: Option<String>,
    /// Visitors named by the proxy who may act; all others are readers.
    #[arg(long, env = "LISTEN_CONSOLE_OPERATORS", value_delimiter = ',', value_name = "NAME,…")]
    pub(crate) console_operators: Vec<String>,
    /// Address of Grafana, linked from the console.
    #[arg(long, env = "LISTEN_CONSOLE_BOARDS_URL", value_name = "URL")]
    console_boards_url: Option<String>,
    /// Shards.
    #[command(flatten)]
    pub(crate) shards: ShardsConfig,
    /// The task queue.
    #[command(flatten)]
    pub(crate) tasks: TasksConfig,
    /// Apps of third parties.
    #[command(flatten)]
    pub(crate) apps: AppsConfig,
    /// Live sockets.
    #[command(flatten)]
    pub(crate) live: LiveConfig,
    /// Where traces go.
    #[command(flatten)]
    pub(crate) traces: TraceSettings,
    /// Holds every run for a while after a stage: STAGE=SECONDS. The demo sets it to kill a worker in mid-run.
    #[arg(long, env = "LISTEN_DEMO_PAUSE_AFTER", hide = true, value_name = "STAGE=SECONDS")]
    pub(crate) demo_pause_after: Option<String>,
}

impl Config {
    /// Whether this process has `role`.
    pub(crate) fn has(&self, role: Role) -> bool {
        self.roles.contains(&role)
    }

    /// Whether this process polls, without LISTEN and NOTIFY. In the mode `inline` it always does: no other process has its jobs.
    pub(crate) fn polls_only(&self) -> bool {
        self.poll_only == Switch::On || self.finalization_dispatch_mode == Dispatch::Inline
    }

    /// Whether jobs may be delivered to this process: it listens at the public address.
    pub(crate) fn takes_deliveries(&self) -> bool {
        self.has(Role::Api) || self.has(Role::Worker)
    }

    /// The numbers that decisions go by.
    pub(crate) fn policy(&self) -> Policy {
        Policy {
            lease: chrono::Duration::seconds(self.finalization_lease_seconds),
            run_limit: chrono::Duration::seconds(self.finalization_run_timeout_seconds),
            staleness: chrono::Duration::seconds(self.finalization_stale_seconds),
            max_attempts: self.finalization_max_attempts,
            max_crashes: self.finalization_max_crashes,
            ..Policy::default()
        }
    }

    /// The budgets of users without limits of their own.
    pub(crate) fn budgets(&self) -> Budgets {
        Budgets {
            conversations_per_day: self.user_conversations_per_day.into(),
            bytes: i64::try_from(self.user_bytes.bytes()).unwrap_or(i64::MAX),
            waiting_jobs: self.user_waiting_jobs.into(),
        }
    }

    /// Where the jobs of live conversations wait: in the mode `inline` there is no queue `finalization`.
    pub(crate) fn live_queue(&self) -> job::Queue {
        match self.finalization_dispatch_mode {
            Dispatch::Inline => job::Queue::Creation,
            Dispatch::Postgres | Dispatch::CloudTasks => job::Queue::Finalization,
        }
    }

    /// How many connections the public address keeps, in a process that may open `files`.
    pub(crate) fn public_connections(&self, files: u64) -> Limits {
        let asked = Limits { all: self.connections, per_address: self.connections_per_address };
        let live = u64::try_from(self.live.live_sessions).unwrap_or(u64::MAX).min(files / 4);
        let live = u32::try_from(live).unwrap_or(u32::MAX);
        Limits::public(asked, files, (self.database_connections + BESIDES).saturating_add(live))
    }

    /// The vendor names that are accepted as `source`: those that are set, else those that are built in.
    pub(crate) fn vendors(&self) -> Vec<String> {
        let set = names(&self.vendor_sources);
        if set.is_empty() { Source::VENDORS.map(str::to_owned).to_vec() } else { set }
    }

    /// How often leases are renewed.
    pub(crate) fn heartbeat(&self) -> Duration {
        Duration::from_secs(self.finalization_heartbeat_seconds)
    }

    /// How long the public address goes on accepting once the process is to stop.
    pub(crate) fn drain(&self) -> Duration {
        Duration::from_secs(self.drain_seconds)
    }

    /// The pause that the demo sets.
    pub(crate) fn pause_after(&self) -> Option<(String, Duration)> {
        let (stage, seconds) = self.demo_pause_after.as_deref()?.split_once('=')?;
        Some((stage.to_owned(), Duration::from_secs(seconds.parse().ok()?)))
    }

    /// Whether the OpenAI-compatible engine is to be used.
    pub(crate) fn uses_openai(&self) -> bool {
        match self.text_engine {
            TextEngine::Embedded => false,
            TextEngine::Openai => true,
            TextEngine::Auto => self.openai_base_url.is_some() || self.openai_api_key.is_some(),
        }
    }

    /// Who sends web push; `None` where no key is set.
    pub(crate) fn vapid(&self) -> Result<Option<Vapid>, BadVapid> {
        let Some(key) = &self.vapid_private_key else { return Ok(None) };
        let subject = self.vapid_subject.as_deref().unwrap_or_default();
        Vapid::new(&SecretString::from(key.as_str()), subject).map(Some)
    }

    /// Where the boards are; what is no web address is not linked.
    pub(crate) fn boards(&self) -> Option<&str> {
        let address = self.console_boards_url.as_deref()?;
        ["http://", "https://"].iter().any(|scheme| address.starts_with(scheme)).then_some(address)
    }

    /// Who may come into the console.
    pub(crate) fn console_access(&self) -> Result<ConsoleAccess, &'static str> {
        ConsoleAccess::new(&self.console_keys, self.console_user_header.as_deref(), &self.console_operators)
    }

    /// What the engines that may be chosen automatically became.
    pub(crate) fn chosen(&self) -> Vec<(&'static str, &'static str)> {
        let text = if self.uses_openai() { "openai" } else { "embedded" };
        vec![("text_engine", text), ("speech_engine", self.live.chosen())]
    }
}

/// The names of a list, without the blanks that people write behind its commas.
fn names(list: &[String]) -> Vec<String> {
    let names = list.iter().map(|name| name.trim()).filter(|name| !name.is_empty());
    names.map(str::to_owned).collect()
}

/// A process listens at an address: names are not looked up.
fn address(text: &str) -> Result<SocketAddr, &'static str> {
    text.parse().map_err(|_| "an IP address and a port, such as 127.0.0.1:8080")
}

fn network(text: &str) -> Result<IpNet, &'static str> {
    text.parse().map_err(|_| "a range of addresses, such as 10.0.0.0/8")
}

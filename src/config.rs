//! Configuration: flag, then environment, then file, then default (DECISIONS §7). Impossible combinations are
//! refused at start, all of them at once.

mod apps;
mod limits;
mod live;
mod shown;
mod size;

use std::{net::SocketAddr, time::Duration};

use clap::{Args, ValueEnum};
use ipnet::IpNet;
use job::Policy;
use ledger::Budgets;
use outside::{BadVapid, Vapid};
use secrecy::SecretString;

pub(crate) use self::{
    apps::{AppsConfig, secrets},
    live::{LiveConfig, Switch},
    shown::shown,
    size::Size,
};

use crate::{
    connections::Limits,
    console::door::{BadDoor, Door},
    traces::TraceSettings,
};

/// A role of `serve`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Role {
    /// HTTP in.
    Api,
    /// Claims, runs, completes, and tells.
    Worker,
    /// Repairs.
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
    /// Named HTTP tasks; not built yet, refused at start.
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

impl DateOrder {
    /// Its name in settings.
    fn name(self) -> &'static str {
        match self {
            Self::MonthFirst => "month-first",
            Self::DayFirst => "day-first",
        }
    }
}

/// Sessions of the database besides `LISTEN_DATABASE_CONNECTIONS`: two renew leases, one listens for wake-ups.
const BESIDES: u32 = 3;

/// Everything that can be set. The name of a setting in a file is its flag's, with `_` for `-`.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Settings")]
pub(crate) struct Config {
    /// Where PostgreSQL is (`dev`, `demo`: a private one of their own).
    #[arg(long, env = "DATABASE_URL", hide_env_values = true, value_name = "URL")]
    pub(crate) database_url: Option<String>,
    /// Connections to it, besides two that renew leases and one that listens for wake-ups of other processes.
    #[arg(long, env = "LISTEN_DATABASE_CONNECTIONS", default_value_t = 10, value_name = "N")]
    pub(crate) database_connections: u32,
    /// The public address.
    #[arg(long, env = "LISTEN_ADDR", default_value = "127.0.0.1:8080", value_name = "IP:PORT")]
    pub(crate) addr: SocketAddr,
    /// The address of metrics, health and the console.
    #[arg(long, env = "LISTEN_ADMIN_ADDR", default_value = "127.0.0.1:8081", value_name = "IP:PORT")]
    pub(crate) admin_addr: SocketAddr,
    /// What this process does.
    #[arg(
        long,
        env = "LISTEN_ROLES",
        value_delimiter = ',',
        default_value = "api,worker,reconciler",
        value_name = "ROLES"
    )]
    pub(crate) roles: Vec<Role>,
    /// How finalizations reach a worker.
    #[arg(long, env = "LISTEN_FINALIZATION_DISPATCH_MODE", default_value = "inline", value_name = "MODE")]
    pub(crate) finalization_dispatch_mode: Dispatch,
    /// Runs at once from the queue `finalization`.
    #[arg(long, env = "LISTEN_FINALIZATION_CONCURRENCY", default_value_t = 4, value_name = "N")]
    pub(crate) finalization_concurrency: usize,
    /// Runs at once from the queue `creation`.
    #[arg(long, env = "LISTEN_CREATION_CONCURRENCY", default_value_t = 4, value_name = "N")]
    pub(crate) creation_concurrency: usize,
    /// How long a create waits for its job, in seconds.
    #[arg(long, env = "LISTEN_CREATE_WAIT_SECONDS", default_value_t = 25, value_name = "S")]
    pub(crate) create_wait_seconds: u64,
    /// How long the public address goes on accepting after the first signal to stop, in seconds: as long as a load balancer
    /// takes to notice that the process is not ready.
    #[arg(long, env = "LISTEN_DRAIN_SECONDS", default_value_t = 0, value_name = "S")]
    pub(crate) drain_seconds: u64,
    /// Failures that end in a dead letter.
    #[arg(long, env = "LISTEN_FINALIZATION_MAX_ATTEMPTS", default_value_t = 5, value_name = "N")]
    pub(crate) finalization_max_attempts: u32,
    /// Expired leases that end in a dead letter.
    #[arg(long, env = "LISTEN_FINALIZATION_MAX_CRASHES", default_value_t = 5, value_name = "N")]
    pub(crate) finalization_max_crashes: u32,
    /// Requests per minute and user; 0 switches the limit off.
    #[arg(long, env = "LISTEN_RATE_PER_MINUTE", default_value_t = 600, value_name = "N")]
    pub(crate) rate_per_minute: u32,
    /// Conversations that a user without a limit of their own may create per UTC day; 0 switches the limit off.
    #[arg(long, env = "LISTEN_USER_CONVERSATIONS_PER_DAY", default_value_t = 100_000, value_name = "N")]
    pub(crate) user_conversations_per_day: u32,
    /// Bytes of what was said that such a user may have stored, such as 10GiB; 0 switches the limit off.
    #[arg(long, env = "LISTEN_USER_BYTES", default_value = "10GiB", value_name = "SIZE")]
    pub(crate) user_bytes: Size,
    /// Jobs of such a user that may wait or run at once; 0 switches the limit off.
    #[arg(long, env = "LISTEN_USER_WAITING_JOBS", default_value_t = 20_000, value_name = "N")]
    pub(crate) user_waiting_jobs: u32,
    /// Memory that request bodies and unsent answers may take, such as 256MiB; a quarter of it for one user.
    #[arg(long, env = "LISTEN_MEMORY_BUDGET", default_value = "256MiB", value_name = "SIZE")]
    pub(crate) memory_budget: Size,
    /// Connections to the public address at once; fewer where the process may not open as many files.
    #[arg(long, env = "LISTEN_CONNECTIONS", default_value_t = 1_024, value_name = "N")]
    pub(crate) connections: usize,
    /// Of these, from one address (of IPv6, one /64). Behind a proxy, all come from its address.
    #[arg(long, env = "LISTEN_CONNECTIONS_PER_ADDRESS", default_value_t = 256, value_name = "N")]
    pub(crate) connections_per_address: usize,
    /// How long finished jobs, deliveries and operator actions are kept. Every worker and reconciler needs the same: the
    /// smallest wins.
    #[arg(long, env = "LISTEN_RETENTION_DAYS", default_value_t = 30, value_name = "DAYS")]
    pub(crate) retention_days: u64,
    /// How long a lease lasts without renewal, in seconds.
    #[arg(long, env = "LISTEN_FINALIZATION_LEASE_SECONDS", default_value_t = 30, value_name = "S")]
    pub(crate) finalization_lease_seconds: i64,
    /// How often leases are renewed, in seconds.
    #[arg(long, env = "LISTEN_FINALIZATION_HEARTBEAT_SECONDS", default_value_t = 10, value_name = "S")]
    pub(crate) finalization_heartbeat_seconds: u64,
    /// How long one run may take, in seconds.
    #[arg(long, env = "LISTEN_FINALIZATION_RUN_TIMEOUT_SECONDS", default_value_t = 1_500, value_name = "S")]
    pub(crate) finalization_run_timeout_seconds: i64,
    /// After how long a queued job that nobody claimed is looked at, in seconds.
    #[arg(long, env = "LISTEN_FINALIZATION_STALE_SECONDS", default_value_t = 300, value_name = "S")]
    pub(crate) finalization_stale_seconds: i64,
    /// When the reconciler passes, besides at start: second minute hour day month weekday.
    #[arg(long, env = "LISTEN_RECONCILER_CRON", default_value = "0 */5 * * * *", value_name = "CRON")]
    pub(crate) reconciler_cron: String,
    /// Who understands text.
    #[arg(long, env = "LISTEN_TEXT_ENGINE", default_value = "auto", value_name = "ENGINE")]
    pub(crate) text_engine: TextEngine,
    /// How dates such as 5/6 are read, where the embedded engine understands text.
    #[arg(long, env = "LISTEN_DATE_ORDER", default_value = "month-first", value_name = "ORDER")]
    pub(crate) date_order: DateOrder,
    /// The OpenAI-compatible server, up to and including its version path.
    #[arg(long, env = "LISTEN_OPENAI_BASE_URL", value_name = "URL")]
    pub(crate) openai_base_url: Option<String>,
    /// Its key.
    #[arg(long, env = "LISTEN_OPENAI_API_KEY", hide_env_values = true, value_name = "KEY")]
    pub(crate) openai_api_key: Option<String>,
    /// Its model for text.
    #[arg(long, env = "LISTEN_OPENAI_MODEL", value_name = "MODEL")]
    pub(crate) openai_model: Option<String>,
    /// Its model for embeddings; without one, embeddings are the embedded engine's.
    #[arg(long, env = "LISTEN_OPENAI_EMBED_MODEL", value_name = "MODEL")]
    pub(crate) openai_embed_model: Option<String>,
    /// Signs web push: base64url of a P-256 private key (32 bytes). Without it browsers cannot be reminded.
    #[arg(long, env = "LISTEN_VAPID_PRIVATE_KEY", hide_env_values = true, value_name = "KEY")]
    pub(crate) vapid_private_key: Option<String>,
    /// Whom push services may write to: mailto:… or https://….
    #[arg(long, env = "LISTEN_VAPID_SUBJECT", value_name = "URL")]
    pub(crate) vapid_subject: Option<String>,
    /// The context of the model for text, in tokens, question and answer together; longer talks are read in parts.
    #[arg(long, env = "LISTEN_OPENAI_CONTEXT_TOKENS", default_value_t = 16_384, value_name = "N")]
    pub(crate) openai_context_tokens: u32,
    /// Addresses that users' URLs may reach besides public ones.
    #[arg(long, env = "LISTEN_ALLOW_OUTGOING", value_delimiter = ',', value_name = "CIDR,…")]
    pub(crate) allow_outgoing: Vec<IpNet>,
    /// Vendor names accepted as the source of a conversation, besides the eight generic ones.
    #[arg(long, env = "LISTEN_VENDOR_SOURCES", value_delimiter = ',', value_name = "NAME,…")]
    pub(crate) vendor_sources: Vec<String>,
    /// Origins whose scripts may call the public interface from a browser.
    #[arg(long, env = "LISTEN_CORS_ORIGINS", value_delimiter = ',', value_name = "ORIGIN,…")]
    pub(crate) cors_origins: Vec<String>,
    /// Who may come into the console: NAME=reader:SHA256 or NAME=operator:SHA256, of the keys that they have.
    #[arg(
        long,
        env = "LISTEN_CONSOLE_KEYS",
        hide_env_values = true,
        value_delimiter = ',',
        value_name = "KEY,…"
    )]
    pub(crate) console_keys: Vec<String>,
    /// Instead of keys: the header in which an authenticating proxy in front of the admin address names the visitor.
    #[arg(long, env = "LISTEN_CONSOLE_USER_HEADER", value_name = "HEADER")]
    pub(crate) console_user_header: Option<String>,
    /// Which of those whom the proxy names may act; all others read.
    #[arg(long, env = "LISTEN_CONSOLE_OPERATORS", value_delimiter = ',', value_name = "NAME,…")]
    pub(crate) console_operators: Vec<String>,
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
    ///
    /// # Errors
    /// When the key or the subject is none.
    pub(crate) fn vapid(&self) -> Result<Option<Vapid>, BadVapid> {
        let Some(key) = &self.vapid_private_key else { return Ok(None) };
        let subject = self.vapid_subject.as_deref().unwrap_or_default();
        Vapid::new(&SecretString::from(key.as_str()), subject).map(Some)
    }

    /// Who may come into the console.
    ///
    /// # Errors
    /// When its settings cannot work.
    pub(crate) fn door(&self) -> Result<Door, BadDoor> {
        Door::new(&self.console_keys, self.console_user_header.as_deref(), &self.console_operators)
    }

    /// The effective values by name, secrets masked.
    pub(crate) fn effective(&self) -> Vec<(&'static str, String)> {
        let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "(none)".to_owned());
        let masked = |value: &Option<String>| value.as_ref().map_or("(none)", |_| "(set)").to_owned();
        // A name and a password in an address are refused, and not shown either.
        let address = |value: &Option<String>| match value {
            Some(url) if url.contains('@') => masked(value),
            _ => text(value),
        };
        let join = |names: Vec<String>| if names.is_empty() { "(none)".to_owned() } else { names.join(",") };
        let name = |value: &dyn std::fmt::Debug| format!("{value:?}").to_lowercase();
        let settings = vec![
            (
                "database_url",
                shown(self.database_url.as_deref()).unwrap_or_else(|| masked(&self.database_url)),
            ),
            ("database_connections", self.database_connections.to_string()),
            ("addr", self.addr.to_string()),
            ("admin_addr", self.admin_addr.to_string()),
            ("roles", join(self.roles.iter().map(|role| name(role)).collect())),
            (
                "finalization_dispatch_mode",
                name(&self.finalization_dispatch_mode).replace("cloudtasks", "cloud_tasks"),
            ),
            ("finalization_concurrency", self.finalization_concurrency.to_string()),
            ("creation_concurrency", self.creation_concurrency.to_string()),
            ("create_wait_seconds", self.create_wait_seconds.to_string()),
            ("drain_seconds", self.drain_seconds.to_string()),
            ("finalization_max_attempts", self.finalization_max_attempts.to_string()),
            ("finalization_max_crashes", self.finalization_max_crashes.to_string()),
            ("rate_per_minute", self.rate_per_minute.to_string()),
            ("user_conversations_per_day", self.user_conversations_per_day.to_string()),
            ("user_bytes", self.user_bytes.to_string()),
            ("user_waiting_jobs", self.user_waiting_jobs.to_string()),
            ("memory_budget", self.memory_budget.to_string()),
            ("connections", self.connections.to_string()),
            ("connections_per_address", self.connections_per_address.to_string()),
            ("retention_days", self.retention_days.to_string()),
            ("finalization_lease_seconds", self.finalization_lease_seconds.to_string()),
            ("finalization_heartbeat_seconds", self.finalization_heartbeat_seconds.to_string()),
            ("finalization_run_timeout_seconds", self.finalization_run_timeout_seconds.to_string()),
            ("finalization_stale_seconds", self.finalization_stale_seconds.to_string()),
            ("reconciler_cron", self.reconciler_cron.clone()),
            ("text_engine", name(&self.text_engine)),
            ("date_order", self.date_order.name().to_owned()),
            ("openai_base_url", address(&self.openai_base_url)),
            ("openai_api_key", masked(&self.openai_api_key)),
            ("openai_model", text(&self.openai_model)),
            ("openai_embed_model", text(&self.openai_embed_model)),
            ("vapid_private_key", masked(&self.vapid_private_key)),
            ("vapid_subject", text(&self.vapid_subject)),
            ("openai_context_tokens", self.openai_context_tokens.to_string()),
            ("allow_outgoing", join(self.allow_outgoing.iter().map(ToString::to_string).collect())),
            ("vendor_sources", join(self.vendor_sources.clone())),
            ("cors_origins", join(self.cors_origins.clone())),
            ("console_keys", masked(&self.console_keys.first().cloned())),
            ("console_user_header", text(&self.console_user_header)),
            ("console_operators", join(self.console_operators.clone())),
        ];
        settings
            .into_iter()
            .chain(self.apps.effective())
            .chain(self.live.effective())
            .chain(self.traces.effective())
            .collect()
    }
}

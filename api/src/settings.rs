//! What the API can be configured with.

mod chat;
mod live;

use std::{sync::Arc, time::Duration};

use records::Source;

use crate::{AppServers, ByokRuns, Deliveries, Invokers, NoAppServers, NoByokRuns, NoDeliveries};
use crate::{Categorize, Uncategorized};

pub use chat::{ChatApps, ChatSettings, EngineWithKey, NoChatApps, UserApps};
pub use live::LiveSettings;

/// The settings of the API role.
#[derive(Clone)]
pub struct Settings {
    /// How long a create waits for its job (`LISTEN_CREATE_WAIT_SECONDS`, below 55 s).
    pub create_wait: Duration,
    /// How long a request's body may take to arrive, once the key is known: then 408. The default lets 4 MiB come over a
    /// line of 0.6 Mbit/s, and is what proxies wait (nginx, `client_body_timeout`).
    pub body_wait: Duration,
    /// How long a key is believed to live after it was looked up: where a body takes longer, it is looked up again.
    pub key_believed: Duration,
    /// How long a request may wait for the database. A statement takes 10 s at most, but a connection can die without a
    /// word.
    pub database_wait: Duration,
    /// Requests per minute, user and process (`LISTEN_RATE_PER_MINUTE`); 0 switches the limit off.
    pub rate_per_minute: u32,
    /// Requests per minute of one app, over all its keys and processes (`LISTEN_APP_RATE_PER_MINUTE`); 0 switches the limit off.
    pub app_rate_per_minute: u32,
    /// How many bytes of request bodies and unsent answers the process holds at most (`LISTEN_MEMORY_BUDGET`), small ones
    /// not counted; a quarter of it for one user.
    pub memory_budget: usize,
    /// Sources that are accepted besides the eight generic ones (DECISIONS §1).
    pub vendor_sources: Vec<String>,
    /// Whether durable dispatch is configured: `false` in `inline` mode, where finalize and `defer_processing`
    /// answer 503 before anything is changed.
    pub finalize_enabled: bool,
    /// Origins whose scripts may call the interface from a browser (`LISTEN_CORS_ORIGINS`).
    pub cors_origins: Vec<String>,
    /// Web push, when the operator has set a key for it; without, such subscriptions are answered 503.
    pub web_push: Option<WebPush>,
    /// Who runs jobs with their users' own keys in this process.
    pub keyed: Arc<dyn ByokRuns>,
    /// Who may deliver jobs to the run route.
    pub invokers: Arc<dyn Invokers>,
    /// Who runs the jobs that are delivered to this process.
    pub deliveries: Arc<dyn Deliveries>,
    /// How long a delivered run may take (`LISTEN_FINALIZATION_RUN_TIMEOUT_SECONDS`).
    pub run_timeout: Duration,
    /// Whether the run route is all that is served: a process with the role `worker` alone.
    pub only_deliveries: bool,
    /// Who finds the category of a memory that came without one; by default, every one is `other`.
    pub categorize: Arc<dyn Categorize>,
    /// Who calls apps' servers when an app is saved or installed.
    pub app_servers: Arc<dyn AppServers>,
    /// Who may make apps here (`LISTEN_APPS`).
    pub apps: AppsMode,
    /// Whether the text engine follows the prompts of summarization apps: the embedded one does not.
    pub follows_prompts: bool,
    pub live: LiveSettings,
    pub chat: ChatSettings,
    /// Which engine does what, by the names that are stored with results: shown by `GET /v1/status`.
    pub engines: Vec<(&'static str, String)>,
}

impl Settings {
    /// The default of [`memory_budget`](Self::memory_budget): 256 MiB.
    pub const MEMORY_BUDGET: usize = 256 * 1_024 * 1_024;
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            create_wait: Duration::from_secs(25),
            body_wait: Duration::from_secs(60),
            key_believed: Duration::from_secs(1),
            database_wait: Duration::from_secs(20),
            rate_per_minute: 600,
            app_rate_per_minute: 600,
            memory_budget: Self::MEMORY_BUDGET,
            vendor_sources: Source::VENDORS.map(str::to_owned).to_vec(),
            finalize_enabled: true,
            cors_origins: Vec::new(),
            web_push: None,
            keyed: Arc::new(NoByokRuns),
            invokers: Arc::new(NoDeliveries),
            deliveries: Arc::new(NoDeliveries),
            run_timeout: Duration::from_secs(1_500),
            only_deliveries: false,
            categorize: Arc::new(Uncategorized),
            app_servers: Arc::new(NoAppServers),
            apps: AppsMode::Public,
            follows_prompts: false,
            live: LiveSettings::default(),
            chat: ChatSettings::default(),
            engines: Vec::new(),
        }
    }
}

/// Who may make apps, and who may install them (`LISTEN_APPS`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppsMode {
    /// Users make apps, and may offer them to every user of this instance.
    Public,
    /// Users make apps for themselves alone.
    Private,
    /// No apps are made or installed, and none may write.
    Off,
}

/// What the API must know of web push; who sends is elsewhere.
#[derive(Clone)]
pub struct WebPush {
    /// What browsers subscribe with: the VAPID key's public half, base64url.
    pub public_key: String,
    /// Whether something can be encrypted for a browser with these keys (`p256dh`, `auth`); tied to `outside` in
    /// `src/wiring.rs`.
    pub check_keys: CheckKeys,
}

/// See [`WebPush::check_keys`].
pub type CheckKeys = Arc<dyn Fn(&str, &str) -> bool + Send + Sync>;

//! Apps of third parties, and the key under which secrets are stored.

use std::time::Duration;

use clap::{Args, ValueEnum};
use db::{BadSecretsKey, Secrets};
use secrecy::SecretString;

/// Who may make apps, and for whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Apps {
    /// Users make apps, and may offer them to every user of this instance.
    Public,
    /// Users make apps for themselves alone.
    Private,
    /// No apps.
    Off,
}

/// What can be set about apps.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Apps")]
pub(crate) struct AppsConfig {
    /// Who may make apps of third parties: for every user, for themselves alone, or not at all.
    #[arg(long, env = "LISTEN_APPS", default_value = "private", value_name = "WHO")]
    apps: Apps,
    /// How long a call of an app's tool may take, in seconds.
    #[arg(long, env = "LISTEN_TOOL_TIMEOUT_SECONDS", default_value_t = 30, value_name = "S")]
    pub(crate) tool_timeout_seconds: u64,
    /// Requests per minute for one app, by all its keys and in all processes together; 0 is no limit.
    #[arg(long, env = "LISTEN_APP_RATE_PER_MINUTE", default_value_t = 600, value_name = "N")]
    pub(crate) app_rate_per_minute: u32,
    /// Encrypts the secrets of webhooks, push subscriptions and apps in the database: 32 bytes in base64; several, separated by
    /// commas, while one replaces another (`listen secrets rotate`).
    #[arg(long, env = "LISTEN_SECRETS_KEY", hide_env_values = true, value_name = "KEY")]
    secrets_key: Option<String>,
}

impl AppsConfig {
    /// Who may make apps.
    pub(crate) fn mode(&self) -> api::AppsMode {
        match self.apps {
            Apps::Public => api::AppsMode::Public,
            Apps::Private => api::AppsMode::Private,
            Apps::Off => api::AppsMode::Off,
        }
    }

    /// Whether there are apps at all.
    pub(crate) fn are_on(&self) -> bool {
        self.apps != Apps::Off
    }

    /// Whether users may offer apps to others.
    pub(crate) fn are_public(&self) -> bool {
        self.apps == Apps::Public
    }

    /// How long a call of a tool may take.
    pub(crate) fn tool_timeout(&self) -> Duration {
        Duration::from_secs(self.tool_timeout_seconds)
    }

    /// The keys under which secrets are stored.
    pub(crate) fn secrets(&self) -> Result<Secrets, BadSecretsKey> {
        secrets(self.secrets_key.as_deref())
    }
}

/// The same for a command that takes the key alone.
pub(crate) fn secrets(key: Option<&str>) -> Result<Secrets, BadSecretsKey> {
    key.map_or_else(|| Ok(Secrets::default()), |key| Secrets::new(&SecretString::from(key)))
}

//! What settings may be, alone and together. Whatever `serve` would refuse later is refused here, all at once and in
//! the names of the environment, so that `listen config` says it before anything starts.

use std::{ops::RangeInclusive, str::FromStr, sync::Arc};

use axum::http::HeaderValue;
use outside::BadVapid;
use speech::NoMeter;
use tasks::{Url, base_url};

use super::{Config, Dispatch, Role, shards::NO_COUNT};
use crate::{
    database::{self, Addresses},
    process::install_crypto,
};

/// A day, in seconds: nothing about one run takes longer.
const DAY: u64 = 86_400;
/// A hundred years: beyond it, moments are no longer moments of any calendar that PostgreSQL keeps.
const LONGEST_RETENTION: u64 = 36_500;
/// More of anything at once than one process can use.
const MANY: u64 = 10_000;

/// A number that may be set: its variable, how it is set (of what is signed and negative, a number far outside), and what it may be.
/// The pages of the manual show it, too.
type Number = (&'static str, fn(&Config) -> u64, RangeInclusive<u64>);

/// What a number may be, by the variable that sets it.
const NUMBERS: [Number; 23] = [
    ("LISTEN_DATABASE_CONNECTIONS", |config| config.database_connections.into(), 4..=MANY),
    ("LISTEN_SHARDS", |config| config.shards.shards.into(), 1..=1_024),
    ("LISTEN_FINALIZATION_CONCURRENCY", |config| count(config.finalization_concurrency), 1..=MANY),
    ("LISTEN_CREATION_CONCURRENCY", |config| count(config.creation_concurrency), 1..=MANY),
    ("LISTEN_CREATE_WAIT_SECONDS", |config| config.create_wait_seconds, 0..=54),
    ("LISTEN_TOOL_TIMEOUT_SECONDS", |config| config.apps.tool_timeout_seconds, 5..=110),
    ("LISTEN_DRAIN_SECONDS", |config| config.drain_seconds, 0..=60),
    ("LISTEN_FINALIZATION_MAX_ATTEMPTS", |config| config.finalization_max_attempts.into(), 1..=1_000),
    ("LISTEN_FINALIZATION_MAX_CRASHES", |config| config.finalization_max_crashes.into(), 1..=1_000),
    ("LISTEN_RATE_PER_MINUTE", |config| config.rate_per_minute.into(), 0..=10_000_000),
    ("LISTEN_APP_RATE_PER_MINUTE", |config| config.apps.app_rate_per_minute.into(), 0..=10_000_000),
    (
        "LISTEN_USER_CONVERSATIONS_PER_DAY",
        |config| config.user_conversations_per_day.into(),
        0..=1_000_000_000,
    ),
    ("LISTEN_USER_WAITING_JOBS", |config| config.user_waiting_jobs.into(), 0..=1_000_000),
    ("LISTEN_CONNECTIONS", |config| count(config.connections), 16..=100_000),
    ("LISTEN_CONNECTIONS_PER_ADDRESS", |config| count(config.connections_per_address), 1..=100_000),
    ("LISTEN_LIVE_SESSIONS", |config| count(config.live.live_sessions), 1..=100_000),
    ("LISTEN_SPEECH_CONCURRENCY", |config| count(config.live.speech_concurrency), 1..=MANY),
    ("LISTEN_RETENTION_DAYS", |config| config.retention_days, 1..=LONGEST_RETENTION),
    ("LISTEN_FINALIZATION_LEASE_SECONDS", |config| whole(config.finalization_lease_seconds), 1..=DAY),
    ("LISTEN_FINALIZATION_HEARTBEAT_SECONDS", |config| config.finalization_heartbeat_seconds, 1..=DAY),
    (
        "LISTEN_FINALIZATION_RUN_TIMEOUT_SECONDS",
        |config| whole(config.finalization_run_timeout_seconds),
        1..=DAY,
    ),
    ("LISTEN_FINALIZATION_STALE_SECONDS", |config| whole(config.finalization_stale_seconds), 1..=DAY),
    ("LISTEN_OPENAI_CONTEXT_TOKENS", |config| config.openai_context_tokens.into(), 4_096..=10_000_000),
];

fn whole(seconds: i64) -> u64 {
    u64::try_from(seconds).unwrap_or(0)
}

fn count(many: usize) -> u64 {
    u64::try_from(many).unwrap_or(u64::MAX)
}

/// What the number that `env` sets may be.
pub(crate) fn range(env: &str) -> Option<RangeInclusive<u64>> {
    NUMBERS.iter().find(|(name, ..)| *name == env).map(|(.., range)| range.clone())
}

impl Config {
    /// Everything that is wrong with this combination, in words; empty when it can work. Where the database is belongs
    /// to [`Config::problems_of_service`]: `dev` and `demo` bring their own.
    pub(crate) fn problems(&self) -> Vec<String> {
        let numbers = NUMBERS.iter().filter_map(|number| problem(number, self));
        let conflicts =
            self.conflicts().into_iter().filter(|(wrong, _)| *wrong).map(|(_, words)| words.to_owned());
        let unreadable =
            [self.bad_budget(), self.bad_cron(), self.bad_origins(), self.bad_vapid(), self.bad_server()];
        // A speech engine makes its client at once, which wants to know the crypto library.
        install_crypto();
        let price = self.live.speech_price.filter(|price| !price.is_finite() || *price < 0.0);
        let price = price.map(|_| "LISTEN_SPEECH_PRICE must be 0 or more".to_owned());
        let speech =
            self.live.speech().engine(Arc::new(NoMeter), [0; 32]).err().map(|wrong| wrong.to_string());
        let secrets = self.apps.secrets().err().map(|wrong| wrong.to_string());
        let access = self.console_access().err().map(str::to_owned);
        let all = numbers
            .chain(conflicts)
            .chain(unreadable.into_iter().flatten())
            .chain(access)
            .chain(secrets)
            .chain(speech)
            .chain(price);
        let is_task_queue = self.finalization_dispatch_mode == Dispatch::CloudTasks;
        all.chain(self.tasks.problems(is_task_queue)).chain(self.traces.problems()).collect()
    }

    /// The same for a process that runs on a database of the operator's.
    pub(crate) fn problems_of_service(&self) -> Vec<String> {
        let database = self.read_addresses().err().map(|wrong| wrong.to_string());
        database.into_iter().chain(self.problems()).collect()
    }

    /// Where the shards are, by their numbers. Parameters that were left out are named in the log.
    pub(crate) fn addresses(&self) -> anyhow::Result<Addresses> {
        let (addresses, ignored) = self.read_addresses()?;
        database::tell(&ignored);
        Ok(addresses)
    }

    fn read_addresses(&self) -> anyhow::Result<(Addresses, Vec<String>)> {
        let shards = &self.shards;
        database::shards(self.database_url.as_deref(), shards.shards, shards.shard_urls.as_deref())
    }

    /// What one setting makes wrong of another.
    fn conflicts(&self) -> [(bool, &'static str); 8] {
        let heartbeat = i64::try_from(self.finalization_heartbeat_seconds).unwrap_or(i64::MAX);
        let is_inline = self.finalization_dispatch_mode == Dispatch::Inline;
        [
            (!self.shards.shards.is_power_of_two(), NO_COUNT),
            (
                self.shards.are_several() && self.apps.are_public(),
                "LISTEN_APPS=public needs LISTEN_SHARDS=1: an app and all who install it must be in one shard; with \
                 LISTEN_APPS=private users make apps for themselves",
            ),
            (
                self.console_boards_url.is_some() && self.boards().is_none(),
                "LISTEN_CONSOLE_BOARDS_URL must be the http:// or https:// address of Grafana",
            ),
            (
                self.finalization_lease_seconds <= heartbeat.saturating_mul(2),
                "the lease must be longer than two heartbeats (LISTEN_FINALIZATION_LEASE_SECONDS, \
                 LISTEN_FINALIZATION_HEARTBEAT_SECONDS)",
            ),
            (
                self.finalization_run_timeout_seconds <= self.finalization_lease_seconds,
                "the run timeout must be longer than the lease (LISTEN_FINALIZATION_RUN_TIMEOUT_SECONDS)",
            ),
            (
                self.finalization_dispatch_mode == Dispatch::CloudTasks
                    && !(15..=1_800).contains(&self.finalization_run_timeout_seconds),
                "LISTEN_FINALIZATION_RUN_TIMEOUT_SECONDS must be 15 to 1800 with \
                 LISTEN_FINALIZATION_DISPATCH_MODE=cloud_tasks: a task queue waits no longer for a delivery",
            ),
            (
                is_inline && !(self.has(Role::Api) && self.has(Role::Worker)),
                "LISTEN_FINALIZATION_DISPATCH_MODE=inline needs the roles api and worker in one process: use \
                 postgres, in every process, to part them",
            ),
            (
                self.takes_deliveries() && self.addr == self.admin_addr && self.addr.port() != 0,
                "LISTEN_ADDR and LISTEN_ADMIN_ADDR are the same address: each needs its own",
            ),
        ]
    }

    /// The largest body and the largest usual answer must fit into one user's quarter.
    fn bad_budget(&self) -> Option<String> {
        let is_enough = (64 << 20..=1 << 40).contains(&self.memory_budget.bytes());
        (!is_enough).then(|| "LISTEN_MEMORY_BUDGET must be 64MiB to 1TiB".to_owned())
    }

    fn bad_cron(&self) -> Option<String> {
        let words = "LISTEN_RECONCILER_CRON cannot be read: it needs six fields, seconds first, for example \
                     `0 */5 * * * *`";
        let never = "LISTEN_RECONCILER_CRON names no moment that is still to come";
        match cron::Schedule::from_str(&self.reconciler_cron) {
            Ok(schedule) => schedule.upcoming(chrono::Utc).next().is_none().then(|| never.to_owned()),
            Err(_) => Some(words.to_owned()),
        }
    }

    fn bad_origins(&self) -> Option<String> {
        let wrong = self.cors_origins.iter().find(|origin| !is_origin(origin))?;
        let words = "is no origin: a browser sends scheme, host and port alone, such as https://app.example";
        Some(format!("LISTEN_CORS_ORIGINS: {wrong:?} {words}"))
    }

    fn bad_vapid(&self) -> Option<String> {
        let subject = "LISTEN_VAPID_SUBJECT must be the mailto: or https:// address at which push services reach \
                       somebody, such as mailto:operator@example.org";
        let words = match (self.vapid().err(), self.vapid_subject.as_deref()) {
            (Some(BadVapid::Key), _) => {
                "LISTEN_VAPID_PRIVATE_KEY must be the base64url of a P-256 private key (32 bytes)"
            }
            (Some(BadVapid::Subject), None) => "LISTEN_VAPID_PRIVATE_KEY needs LISTEN_VAPID_SUBJECT",
            (Some(BadVapid::Subject), Some(_)) => subject,
            (None, Some(text)) if !is_subject(text) => subject,
            (None, _) => return None,
        };
        Some(words.to_owned())
    }

    /// The model server's address is looked at wherever one is set: `auto` uses it.
    fn bad_server(&self) -> Option<String> {
        let words = match (self.uses_openai(), &self.openai_base_url, &self.openai_model) {
            (true, None, _) => "the OpenAI-compatible engine needs LISTEN_OPENAI_BASE_URL",
            (_, Some(url), _) if web_address(url).is_none() => {
                "LISTEN_OPENAI_BASE_URL must be an http:// or https:// URL without a name or password, such as \
                 https://models.example/v1"
            }
            (true, _, model) if model.as_deref().is_none_or(|name| name.trim().is_empty()) => {
                "the OpenAI-compatible engine needs LISTEN_OPENAI_MODEL, the name of a model of that server"
            }
            _ => {
                let key = self.openai_api_key.as_ref()?;
                HeaderValue::from_str(key).err()?;
                "LISTEN_OPENAI_API_KEY cannot be sent in a header: is there a line break in it?"
            }
        };
        Some(words.to_owned())
    }
}

fn problem((env, value, range): &Number, config: &Config) -> Option<String> {
    let words = || format!("{env} must be {} to {}", range.start(), range.end());
    (!range.contains(&value(config))).then(words)
}

/// What a browser sends as `Origin`: compared letter by letter, so that a path, a slash or the scheme's own port would
/// never match.
fn is_origin(text: &str) -> bool {
    web_address(text).is_some_and(|url| url.origin().ascii_serialization() == text)
}

fn is_subject(text: &str) -> bool {
    match text.strip_prefix("mailto:") {
        Some(address) => {
            address.split_once('@').is_some_and(|(name, host)| !name.is_empty() && !host.is_empty())
        }
        None => text.starts_with("https://") && web_address(text).is_some(),
    }
}

/// An http:// or https:// address with a host, and without a name or password.
fn web_address(text: &str) -> Option<Url> {
    base_url(text, &["http", "https"])
}

#[cfg(test)]
mod tests;

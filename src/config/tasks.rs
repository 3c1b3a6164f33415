//! The task queue that finalizations are dispatched to, and who may deliver them.

use std::time::Duration;

use clap::{Args, ValueEnum};
use tasks::{Access, Expected, QueueName, TaskQueueSettings, Url, base_url, is_here};

use super::names;

/// How requests to the task queue are authorized.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TasksCredentials {
    /// By Google's application default credentials.
    Google,
    /// Not at all: an emulator on this machine.
    None,
}

/// What can be set about the task queue.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Task queue")]
pub(crate) struct TasksConfig {
    /// The queue: projects/P/locations/L/queues/Q, or its id alone with the two settings below.
    #[arg(long, env = "LISTEN_FINALIZATION_TASKS_QUEUE", value_name = "QUEUE")]
    finalization_tasks_queue: Option<String>,
    /// Its project.
    #[arg(long, env = "LISTEN_FINALIZATION_TASKS_PROJECT", value_name = "ID")]
    finalization_tasks_project: Option<String>,
    /// Its location, such as europe-west1.
    #[arg(long, env = "LISTEN_FINALIZATION_TASKS_LOCATION", value_name = "ID")]
    finalization_tasks_location: Option<String>,
    /// Where tasks are delivered: the public URL of /v1/conversation-finalization-jobs/run.
    #[arg(long, env = "LISTEN_FINALIZATION_TASKS_HANDLER_URL", value_name = "URL")]
    finalization_tasks_handler_url: Option<String>,
    /// The audience of the tokens that deliveries carry; the handler URL where none is set.
    #[arg(long, env = "LISTEN_FINALIZATION_TASKS_OIDC_AUDIENCE", value_name = "TEXT")]
    finalization_tasks_oidc_audience: Option<String>,
    /// The service account that may deliver, by its email address.
    #[arg(long, env = "LISTEN_FINALIZATION_TASKS_INVOKER_SA", value_name = "EMAIL")]
    finalization_tasks_invoker_sa: Option<String>,
    /// The number of that service account (its unique id), which is checked besides the address where it is set.
    #[arg(long, env = "LISTEN_FINALIZATION_TASKS_INVOKER_SUB", value_name = "NUMBER")]
    finalization_tasks_invoker_sub: Option<String>,
    /// The API of the task queue.
    #[arg(
        long,
        env = "LISTEN_FINALIZATION_TASKS_API_URL",
        default_value = "https://cloudtasks.googleapis.com",
        value_name = "URL"
    )]
    finalization_tasks_api_url: String,
    /// Who issues the tokens.
    #[arg(
        long,
        env = "LISTEN_FINALIZATION_TASKS_ISSUERS",
        value_delimiter = ',',
        default_value = "https://accounts.google.com,accounts.google.com",
        value_name = "TEXT,…"
    )]
    finalization_tasks_issuers: Vec<String>,
    /// The keys that verify the tokens.
    #[arg(
        long,
        env = "LISTEN_FINALIZATION_TASKS_JWKS_URL",
        default_value = "https://www.googleapis.com/oauth2/v3/certs",
        value_name = "URL"
    )]
    finalization_tasks_jwks_url: String,
    /// How requests to the API are authorized.
    #[arg(
        long,
        env = "LISTEN_FINALIZATION_TASKS_CREDENTIALS",
        default_value = "google",
        value_name = "KIND"
    )]
    finalization_tasks_credentials: TasksCredentials,
}

impl TasksConfig {
    /// Whether an invoker is configured, which may deliver jobs to this process.
    pub(crate) fn has_invoker(&self) -> bool {
        self.finalization_tasks_invoker_sa.is_some()
    }

    /// Whether a queue is named.
    pub(crate) fn has_queue(&self) -> bool {
        self.finalization_tasks_queue.is_some()
    }

    /// The accepted tokens, and the URL of the keys that verify them; `None`: no token is accepted.
    pub(crate) fn invoker(&self) -> Option<(Expected, Url)> {
        let expected = Expected {
            issuers: names(&self.finalization_tasks_issuers),
            audience: self.audience()?.to_owned(),
            invoker: self.finalization_tasks_invoker_sa.clone()?,
            invoker_sub: self.finalization_tasks_invoker_sub.clone(),
        };
        Some((expected, web_address(&self.finalization_tasks_jwks_url)?))
    }

    /// What tasks are made of; `None` where something is missing.
    pub(crate) fn queue(&self, deadline: Duration) -> Option<TaskQueueSettings> {
        Some(TaskQueueSettings {
            api_url: web_address(&self.finalization_tasks_api_url)?,
            queue: self.queue_name()?.ok()?,
            handler_url: self.finalization_tasks_handler_url.clone()?,
            audience: self.audience()?.to_owned(),
            invoker: self.finalization_tasks_invoker_sa.clone()?,
            deadline,
        })
    }

    /// How requests to the API are authorized.
    pub(crate) fn access(&self) -> Result<Access, tasks::NoCredentials> {
        match self.finalization_tasks_credentials {
            TasksCredentials::Google => Access::google(),
            TasksCredentials::None => Ok(Access::Open),
        }
    }

    /// Everything that is wrong with these settings; `required`: the dispatch mode is `cloud_tasks`.
    pub(super) fn problems(&self, required: bool) -> Vec<String> {
        let missing = [
            ("LISTEN_FINALIZATION_TASKS_QUEUE", self.finalization_tasks_queue.is_none()),
            ("LISTEN_FINALIZATION_TASKS_HANDLER_URL", self.finalization_tasks_handler_url.is_none()),
            ("LISTEN_FINALIZATION_TASKS_INVOKER_SA", self.finalization_tasks_invoker_sa.is_none()),
        ];
        let missing = missing.into_iter().filter(|(_, is_missing)| required && *is_missing);
        let missing =
            missing.map(|(name, _)| format!("LISTEN_FINALIZATION_DISPATCH_MODE=cloud_tasks needs {name}"));
        let urls = [
            ("LISTEN_FINALIZATION_TASKS_HANDLER_URL", self.finalization_tasks_handler_url.as_deref()),
            ("LISTEN_FINALIZATION_TASKS_API_URL", Some(self.finalization_tasks_api_url.as_str())),
            ("LISTEN_FINALIZATION_TASKS_JWKS_URL", Some(self.finalization_tasks_jwks_url.as_str())),
        ];
        let urls = urls.into_iter().filter(|(_, url)| url.is_some_and(|url| web_address(url).is_none()));
        let urls = urls.map(|(name, _)| {
            format!("{name} must be an https:// URL, or an http:// URL of this machine, without a name or password")
        });
        let conflicts = self.conflicts().into_iter().filter(|(wrong, _)| *wrong);
        missing.chain(urls).chain(conflicts.map(|(_, words)| words.to_owned())).collect()
    }

    /// What one of these settings makes wrong of another, or cannot be.
    fn conflicts(&self) -> [(bool, &'static str); 4] {
        let api = web_address(&self.finalization_tasks_api_url);
        let is_open = self.finalization_tasks_credentials == TasksCredentials::None;
        [
            (
                self.queue_name().is_some_and(|name| name.is_err()),
                "LISTEN_FINALIZATION_TASKS_QUEUE must be projects/P/locations/L/queues/Q, or the id of a queue with \
                 LISTEN_FINALIZATION_TASKS_PROJECT and LISTEN_FINALIZATION_TASKS_LOCATION",
            ),
            (
                self.finalization_tasks_invoker_sa.as_ref().is_some_and(|email| !is_email(email)),
                "LISTEN_FINALIZATION_TASKS_INVOKER_SA must be the email address of a service account",
            ),
            (
                self.has_invoker() && self.audience().is_none_or(|audience| audience.trim().is_empty()),
                "LISTEN_FINALIZATION_TASKS_INVOKER_SA needs LISTEN_FINALIZATION_TASKS_OIDC_AUDIENCE or \
                 LISTEN_FINALIZATION_TASKS_HANDLER_URL: a token without an expected audience proves nothing",
            ),
            (
                is_open && api.is_some_and(|url| !is_here(&url)),
                "LISTEN_FINALIZATION_TASKS_CREDENTIALS=none needs a LISTEN_FINALIZATION_TASKS_API_URL on this machine",
            ),
        ]
    }

    fn audience(&self) -> Option<&str> {
        self.finalization_tasks_oidc_audience.as_deref().or(self.finalization_tasks_handler_url.as_deref())
    }

    /// The queue's full name; an error if it is malformed.
    fn queue_name(&self) -> Option<Result<QueueName, ()>> {
        let queue = self.finalization_tasks_queue.as_deref()?;
        let (project, location) = (&self.finalization_tasks_project, &self.finalization_tasks_location);
        Some(match (queue.contains('/'), project, location) {
            (false, Some(project), Some(location)) => {
                format!("projects/{project}/locations/{location}/queues/{queue}").parse()
            }
            _ => queue.parse(),
        })
    }
}

/// An https:// URL, or an http:// URL of this machine.
fn web_address(text: &str) -> Option<Url> {
    base_url(text, &["http", "https"]).filter(|url| url.scheme() == "https" || is_here(url))
}

fn is_email(text: &str) -> bool {
    let parts: Vec<&str> = text.split('@').collect();
    matches!(parts.as_slice(), [name, host] if !name.is_empty() && !host.is_empty())
}

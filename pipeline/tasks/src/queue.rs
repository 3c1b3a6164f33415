//! The task queue's REST API, as much of it as is used: create a task, look whether one is there, look at the queue.

use std::time::Duration;

use job::{Dispatch, Generation, JobId};
use outbox::HandOver;
use reqwest::{Method, Request, StatusCode, Url};
use serde_json::Value;
use upstream::{Client, asked_for, json, read_at_most};

use crate::{
    Access, TaskQueueSettings,
    task::{create_request, task_id},
};

/// How long creating a task may take, credentials included.
const CREATE: Duration = Duration::from_secs(10);
/// How long a question may take, credentials included.
const ASK: Duration = Duration::from_secs(5);
/// How long an answer may be.
const LONGEST: usize = 64 * 1_024;

/// The task queue. Cheap to clone.
#[derive(Clone, Debug)]
pub struct TaskQueue {
    settings: TaskQueueSettings,
    access: Access,
    http: Client,
}

/// How a try to create a task ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Created {
    /// The queue has it, `exists`: since an earlier try.
    Taken { exists: bool },
    /// Not now.
    Later {
        /// One of [`crate::CREATE_OUTCOMES`].
        outcome: &'static str,
        /// How long the queue asks to be left alone.
        wait: Option<Duration>,
    },
    /// Fails until an operator changes a setting or a permission. One of [`crate::CREATE_OUTCOMES`], and the status if there is one.
    Refused { outcome: &'static str, status: u16 },
}

impl TaskQueue {
    /// `None`: the process has no TLS provider.
    pub fn new(settings: TaskQueueSettings, access: Access) -> Option<Self> {
        let http = upstream::client(&settings.api_url)?;
        Some(Self { settings, access, http })
    }

    pub(crate) fn settings(&self) -> &TaskQueueSettings {
        &self.settings
    }

    /// Creates the task of a dispatch, unless it was created before.
    pub(crate) async fn create(&self, hand_over: &HandOver) -> Created {
        let path = format!("{}/tasks", self.settings.queue);
        let create = async {
            let Some(request) = self.request(Method::POST, &path).await else {
                return Created::Later { outcome: "credentials", wait: None };
            };
            let unreachable = Created::Later { outcome: "unreachable", wait: None };
            let Ok(request) = json(request, &create_request(&self.settings, hand_over)) else {
                return unreachable;
            };
            let Ok(answer) = self.http.send(request).await else {
                return unreachable;
            };
            let wait = asked_for(answer.headers());
            created(answer.status(), wait)
        };
        let late = Created::Later { outcome: "unreachable", wait: None };
        tokio::time::timeout(CREATE, create).await.unwrap_or(late)
    }

    /// Whether the queue has the task of a dispatch, which waits or is being delivered; `None`: the queue did not say.
    pub async fn holds(&self, job: &JobId, generation: Generation, dispatch: Dispatch) -> Option<bool> {
        let path = format!("{}/tasks/{}", self.settings.queue, task_id(job, generation, dispatch));
        match self.get(&path).await {
            Ok((StatusCode::OK, _)) => Some(true),
            Ok((StatusCode::NOT_FOUND, _)) => Some(false),
            _ => None,
        }
    }

    /// The answer to a question, with its body where it is JSON. The error says what was in the way.
    pub(crate) async fn get(&self, path: &str) -> Result<(StatusCode, Value), &'static str> {
        self.ask(self.request(Method::GET, path)).await
    }

    /// The same for a question that is posted.
    pub(crate) async fn post(&self, path: &str, body: &Value) -> Result<(StatusCode, Value), &'static str> {
        self.ask(async { json(self.request(Method::POST, path).await?, body).ok() }).await
    }

    async fn ask(
        &self,
        request: impl Future<Output = Option<Request>>,
    ) -> Result<(StatusCode, Value), &'static str> {
        let ask = async {
            let request = request.await.ok_or("credentials")?;
            let answer = self.http.send(request).await.map_err(|_| "unreachable")?;
            let status = answer.status();
            let body = read_at_most(answer, LONGEST).await.map_err(|_| "unreachable")?;
            Ok((status, serde_json::from_slice(&body).unwrap_or_default()))
        };
        tokio::time::timeout(ASK, ask).await.unwrap_or(Err("unreachable"))
    }

    /// An authorized request; `None` without credentials.
    async fn request(&self, method: Method, path: &str) -> Option<Request> {
        let headers = self.access.headers().await.ok()?;
        let base = self.settings.api_url.as_str().trim_end_matches('/');
        let mut request = Request::new(method, Url::parse(&format!("{base}/v2/{path}")).ok()?);
        request.headers_mut().extend(headers);
        Some(request)
    }
}

/// What an answer to a create means.
fn created(status: StatusCode, wait: Option<Duration>) -> Created {
    match status {
        status if status.is_success() => Created::Taken { exists: false },
        StatusCode::CONFLICT => Created::Taken { exists: true },
        StatusCode::TOO_MANY_REQUESTS => Created::Later { outcome: "rate_limited", wait },
        StatusCode::REQUEST_TIMEOUT => Created::Later { outcome: "unavailable", wait },
        status if status.is_server_error() => Created::Later { outcome: "unavailable", wait },
        StatusCode::UNAUTHORIZED => Created::Refused { outcome: "unauthorized", status: 401 },
        StatusCode::FORBIDDEN => Created::Refused { outcome: "forbidden", status: 403 },
        status => Created::Refused { outcome: "refused", status: status.as_u16() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::QueueName;

    #[test]
    fn task_queue_name_has_project_and_location() {
        for name in
            ["projects/p/locations/europe-west1/queues/q", "projects/example.com:p/locations/l/queues/q-1"]
        {
            assert!(name.parse::<QueueName>().is_ok(), "{name}");
        }
        for name in [
            "",
            "q",
            "projects/p/locations/l/queues/",
            "projects/p/locations/l/queues/a/b",
            "projects/p?/locations/l/queues/q",
        ] {
            assert!(name.parse::<QueueName>().is_err(), "{name}");
        }
    }

    #[test]
    fn task_create_status_decides_created_retry_or_refused() {
        let wait = Some(Duration::from_secs(7));
        let of = |code: u16| StatusCode::from_u16(code).map(|status| created(status, wait)).ok();
        assert_eq!(of(200), Some(Created::Taken { exists: false }));
        assert_eq!(of(409), Some(Created::Taken { exists: true }));
        assert_eq!(of(429), Some(Created::Later { outcome: "rate_limited", wait }));
        for code in [408, 500, 502, 503, 504] {
            assert_eq!(of(code), Some(Created::Later { outcome: "unavailable", wait }), "{code}");
        }
        for (code, outcome) in
            [(401, "unauthorized"), (403, "forbidden"), (400, "refused"), (404, "refused"), (302, "refused")]
        {
            assert_eq!(of(code), Some(Created::Refused { outcome, status: code }), "{code}");
        }
    }
}

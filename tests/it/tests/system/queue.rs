//! A task queue for tests: the emulator, and the settings of processes that dispatch to it and receive from it.

use std::time::Duration;

use reqwest::{Response, StatusCode};
use serde_json::{Value, json};
use task_queue::{Claims, Emulator, INVOKER, Options, QUEUE};

use crate::client::http;
use crate::process::{STEADY, until};

/// Where jobs are delivered.
const PATH: &str = "/v1/conversation-finalization-jobs/run";
/// For whom tokens are issued.
pub(crate) const AUDIENCE: &str = "https://listen.example/run";

/// An emulator, and an address of this machine at which it delivers.
pub(crate) struct Queue {
    pub(crate) emulator: Emulator,
    settings: Vec<(&'static str, String)>,
}

impl Queue {
    /// One that delivers to a process of the test's own.
    pub(crate) async fn start(options: Options) -> Self {
        let emulator = Emulator::start(options).await.expect("a port is free");
        let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let addr = free.local_addr().expect("it has an address");
        let settings = vec![
            ("LISTEN_FINALIZATION_DISPATCH_MODE", "cloud_tasks".to_owned()),
            ("LISTEN_FINALIZATION_TASKS_QUEUE", QUEUE.to_owned()),
            ("LISTEN_FINALIZATION_TASKS_API_URL", emulator.url()),
            ("LISTEN_FINALIZATION_TASKS_JWKS_URL", emulator.keys_url()),
            ("LISTEN_FINALIZATION_TASKS_HANDLER_URL", format!("http://{addr}{PATH}")),
            ("LISTEN_FINALIZATION_TASKS_OIDC_AUDIENCE", AUDIENCE.to_owned()),
            ("LISTEN_FINALIZATION_TASKS_INVOKER_SA", INVOKER.to_owned()),
            ("LISTEN_FINALIZATION_TASKS_CREDENTIALS", "none".to_owned()),
            ("LISTEN_RECONCILER_CRON", "* * * * * *".to_owned()),
            ("LISTEN_ADDR", addr.to_string()),
        ];
        let steady = STEADY.map(|(name, value)| (name, value.to_owned()));
        Self { emulator, settings: [&settings[..], &steady].concat() }
    }

    /// Settings of the process to which is delivered, and `more`.
    pub(crate) fn taking<'a>(&'a self, more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
        let own = self.settings.iter().map(|(name, value)| (*name, value.as_str()));
        own.chain(more.iter().copied()).collect()
    }

    /// Settings of any other process, and `more`.
    pub(crate) fn handing<'a>(&'a self, more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
        let elsewhere = [("LISTEN_ADDR", "127.0.0.1:0")];
        [self.taking(&elsewhere).as_slice(), more].concat()
    }

    /// What a token of the invoker claims.
    pub(crate) fn claims(&self) -> Claims {
        let now = std::time::UNIX_EPOCH.elapsed().expect("it is later").as_secs();
        let now = i64::try_from(now).expect("it is not that late");
        Claims {
            issuer: "https://accounts.google.com".to_owned(),
            audience: AUDIENCE.to_owned(),
            email: INVOKER.to_owned(),
            email_verified: true,
            issued_at: now,
            expires_at: now + 600,
        }
    }

    /// A token of the invoker.
    pub(crate) fn token(&self) -> String {
        self.emulator.signer().expect("the key is there").sign(&self.claims())
    }

    /// Waits until so many deliveries have ended.
    pub(crate) async fn delivered(&self, count: usize) {
        until(async || self.emulator.deliveries().len() >= count).await;
    }

    /// The answers to deliveries so far: status and body.
    pub(crate) fn answers(&self) -> Vec<(u16, Value)> {
        let deliveries = self.emulator.deliveries().into_iter();
        deliveries.map(|one| (one.status, serde_json::from_str(&one.answer).unwrap_or_default())).collect()
    }
}

/// Delivers a dispatch to the process at `base`, as anybody with that token may.
pub(crate) async fn deliver(
    base: &str,
    token: Option<&str>,
    body: String,
) -> (StatusCode, Option<u64>, Value) {
    let answer = send(base, token, body).await.expect("the service answers");
    let again = answer.headers().get("retry-after").map(|value| value.to_str().expect("text").parse());
    let again = again.map(|seconds| seconds.expect("whole seconds"));
    (answer.status(), again, answer.json().await.expect("it answers in JSON"))
}

/// The same, whatever comes of it.
pub(crate) async fn send(base: &str, token: Option<&str>, body: String) -> Result<Response, reqwest::Error> {
    let mut request = http().post(format!("{base}{PATH}")).header("content-type", "application/json");
    if let Some(token) = token {
        request = request.bearer_auth(token);
    }
    request.body(body).send().await
}

/// What is delivered.
pub(crate) fn dispatch(job: &str, generation: i64) -> String {
    json!({ "job_id": job, "dispatch_generation": generation }).to_string()
}

/// An emulator's queue that delivers one task at a time, with a pause before each.
pub(crate) fn slow(between: Duration) -> Options {
    Options { concurrency: 1, between, ..Options::default() }
}

//! The model and speech servers that the processes ask: what this one reports, and what all reports come to.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use futures::future::join_all;
use job::ErrorClass;
use ledger::Shards;
use operations::{ModelAnswer, ModelServer, ModelServers, Operations, ServerKind};
use speech::Reason;
use stages::{Engines, ServerAnswer, ServerHealth};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{lifecycle::Lifecycle, process::process_name};

/// How often a process reports.
const EVERY: Duration = Duration::from_secs(5);
/// A server that nothing was heard of for so long is asked whether it is there.
const UNHEARD: Duration = Duration::from_secs(60);

/// Of an open circuit, the seconds without a call after which checks say how the server is.
const UNCALLED: i64 = 600;

/// An engine of this process that has a server.
enum RemoteEngine {
    Text(Engines),
    Speech(Arc<dyn speech::Engine>),
}

/// Reports the servers of this process until it stops; a process without one reports nothing.
pub(crate) fn start(
    shards: &Shards,
    engines: &Engines,
    speech: Option<Arc<dyn speech::Engine>>,
    tasks: &TaskTracker,
    lifecycle: &Lifecycle,
) {
    let engines = [Some(RemoteEngine::Text(engines.clone())), speech.map(RemoteEngine::Speech)];
    let engines: Vec<RemoteEngine> =
        engines.into_iter().flatten().filter(|engine| engine.health().is_some()).collect();
    if !engines.is_empty() {
        tasks.spawn(report(shards.iter().map(Operations::new).collect(), engines, lifecycle.soft.clone()));
    }
}

async fn report(shards: Vec<Operations>, engines: Vec<RemoteEngine>, soft: CancellationToken) {
    let process = process_name();
    loop {
        // Bounded by the engines; a process that is being stopped does not wait for it.
        let checks = join_all(engines.iter().map(RemoteEngine::check_unheard));
        if soft.run_until_cancelled(checks).await.is_none() {
            return;
        }
        // The process's own report logs it when the database is unreachable.
        let servers: Vec<ModelServer> = engines.iter().filter_map(RemoteEngine::report).collect();
        let told = join_all(
            shards
                .iter()
                .map(|operations| operations.db().in_time(operations.report_servers(&process, &servers))),
        );
        let _ = told.await;
        if soft.run_until_cancelled(tokio::time::sleep(EVERY)).await.is_none() {
            return;
        }
    }
}

impl RemoteEngine {
    /// Asks the server, when nothing was heard of it for a while, whether it is there.
    async fn check_unheard(&self) {
        let Some((_, health)) = self.health() else { return };
        let heard = [health.called, health.checked].into_iter().flatten().map(|answer| answer.age).min();
        if heard.is_none_or(|age| age >= UNHEARD) {
            match self {
                Self::Text(engines) => engines.describe.check_server().await,
                Self::Speech(engine) => engine.check_server().await,
            }
        }
    }

    /// The name of the engine, and what is known of its server.
    fn health(&self) -> Option<(String, ServerHealth)> {
        match self {
            Self::Text(engines) => {
                engines.describe.server().map(|health| (engines.describe.id().to_owned(), health))
            }
            Self::Speech(engine) => engine.server().map(of_speech),
        }
    }

    fn report(&self) -> Option<ModelServer> {
        let kind = match self {
            Self::Text(_) => ServerKind::Model,
            Self::Speech(_) => ServerKind::Speech,
        };
        self.health().map(|(engine, health)| to_report(kind, engine, &health))
    }
}

fn to_report(kind: ServerKind, engine: String, health: &ServerHealth) -> ModelServer {
    let answer = |answer: ServerAnswer| ModelAnswer {
        seconds_ago: seconds(answer.age),
        class: answer.class.map(|class| class.as_str().to_owned()),
        http_status: answer.http_status,
    };
    ModelServer {
        kind,
        engine,
        open_for: health.open_for.map(seconds),
        called: health.called.map(answer),
        checked: health.checked.map(answer),
    }
}

/// A speech server in the terms of model servers.
fn of_speech(health: speech::ServerHealth) -> (String, ServerHealth) {
    let answer = |speech::ServerAnswer { age, reason, http_status }| ServerAnswer {
        age,
        class: reason.map(|reason| class_of(reason, http_status)),
        http_status,
    };
    let (called, checked) = (health.called.map(answer), health.checked.map(answer));
    (health.id, ServerHealth { open_for: health.open_for, called, checked })
}

fn seconds(age: Duration) -> i64 {
    i64::try_from(age.as_secs()).unwrap_or(i64::MAX)
}

/// The class of a speech server's answer, among those of model servers.
fn class_of(reason: Reason, http_status: Option<u16>) -> ErrorClass {
    match (reason, http_status) {
        (Reason::KeyRejected | Reason::OwnKeyRejected, Some(402 | 429)) => ErrorClass::QuotaExhausted,
        (Reason::KeyRejected | Reason::OwnKeyRejected, Some(403)) => ErrorClass::Forbidden,
        (Reason::KeyRejected | Reason::OwnKeyRejected, _) => ErrorClass::KeyRejected,
        (Reason::RateLimited | Reason::Overloaded, _) => ErrorClass::RateLimited,
        (Reason::Timeout, _) => ErrorClass::Timeout,
        (Reason::Unavailable, Some(_)) => ErrorClass::ServerError,
        (Reason::Unavailable | Reason::NoSpeechEngine, _) => ErrorClass::Unreachable,
        (Reason::Rejected, Some(404)) => ErrorClass::ModelNotFound,
        (Reason::Rejected, _) => ErrorClass::BadRequest,
        (Reason::Malformed, _) => ErrorClass::Malformed,
    }
}

/// How a server stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It answers.
    Well,
    /// Nothing was heard of it yet.
    Unknown,
    /// It answers, and not as it should.
    Unwell,
    /// What needs it is not finished.
    Away,
}

/// What the reports of all living processes come to, of one engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Summary {
    /// What it is asked for.
    pub(crate) kind: ServerKind,
    /// Model and host.
    pub(crate) engine: String,
    /// How it stands.
    pub(crate) standing: Standing,
    /// A sentence without its engine; commands and settings stand between backticks.
    pub(crate) words: String,
}

/// What the reports come to, by engine, model servers first. Pure.
pub(crate) fn summaries(found: &ModelServers) -> Vec<Summary> {
    let mut engines: BTreeMap<(ServerKind, &str), Vec<&ModelServer>> = BTreeMap::new();
    for server in found.reports.iter().flat_map(|report| &report.servers) {
        engines.entry((server.kind, &server.engine)).or_default().push(server);
    }
    engines
        .into_iter()
        .map(|((kind, engine), servers)| summary(kind, engine, &servers, found.waiting))
        .collect()
}

fn summary(kind: ServerKind, engine: &str, servers: &[&ModelServer], waiting: i64) -> Summary {
    // No job waits for speech.
    let waiting = if kind == ServerKind::Model { waiting } else { 0 };
    let called = servers.iter().filter_map(|server| server.called.as_ref());
    let called = called.min_by_key(|answer| answer.seconds_ago);
    let may_count = |check: &&ModelAnswer| !is_without_list(check) || called.is_none_or(passes_by_itself);
    let checked = servers.iter().filter_map(|server| server.checked.as_ref()).filter(may_count);
    let newest = called.into_iter().chain(checked).min_by_key(|answer| answer.seconds_ago);
    let open: Vec<i64> =
        servers.iter().filter(|server| !is_forgotten(server)).filter_map(|server| server.open_for).collect();
    // A call says more than a check: a list of models is answered by a server that answers nothing else.
    let last = match (called, open.is_empty()) {
        (Some(called), false) => Some(called),
        _ => newest,
    };
    let class = last.and_then(|answer| answer.class.as_deref()).and_then(ErrorClass::from_name);
    let (standing, what) = match (last, class) {
        (None, _) => (Standing::Unknown, "was not asked yet".to_owned()),
        (Some(answer), None) if answer.class.is_none() && !open.is_empty() => {
            (Standing::Away, "is left alone after calls that failed; it answered".to_owned())
        }
        (Some(answer), None) if is_without_list(answer) => (Standing::Well, "answers".to_owned()),
        (Some(answer), None) if answer.class.is_none() => {
            (Standing::Well, "answers, and takes the key".to_owned())
        }
        (Some(answer), class) => {
            let (standing, what) = trouble(class, settings(kind, engine));
            let status = answer.http_status.map(|status| format!(" (HTTP {status})")).unwrap_or_default();
            (standing, format!("{what}{status}"))
        }
    };
    let standing = if open.is_empty() { standing } else { Standing::Away };
    let mut words = what;
    if let Some(answer) = last {
        words.push_str(&format!(", {} s ago", answer.seconds_ago));
    }
    if last.is_some_and(is_without_list) {
        words.push_str("; the next call shows whether it takes the key");
    }
    if let Some(soonest) = open.iter().min() {
        let of = if servers.len() == 1 {
            String::new()
        } else {
            format!(" in {} of {} processes", open.len(), servers.len())
        };
        // Nothing is tried by itself: the first call after the wait is.
        let next = match soonest {
            0 => "the next call tries it".to_owned(),
            wait => format!("the first call in {wait} s or later tries it"),
        };
        words.push_str(&format!("; its circuit is open{of}, {next}"));
    }
    match waiting {
        0 => {}
        1 => words.push_str("; 1 job waits for it"),
        1_000.. => words.push_str("; 1,000 jobs or more wait for it"),
        many => words.push_str(&format!("; {many} jobs wait for it")),
    }
    if standing == Standing::Well && waiting > 0 {
        words.push_str(": `listen jobs run-now --all` ends their waits");
    }
    Summary { kind, engine: engine.to_owned(), standing, words }
}

/// Whether a circuit is open only for want of a call that would close it: its waiting time is over, the last call was long ago, and
/// the server answers checks. Where there are calls, one of them is let through every five minutes.
fn is_forgotten(server: &ModelServer) -> bool {
    let is_old = server.called.as_ref().is_none_or(|called| called.seconds_ago >= UNCALLED);
    let answers = server.checked.as_ref().is_some_and(|checked| checked.class.is_none());
    server.open_for == Some(0) && is_old && answers
}

/// The answer to a check of a server that has no list of models: it is there, and nothing is known of the key.
fn is_without_list(check: &ModelAnswer) -> bool {
    check.class.is_none() && check.http_status.is_some()
}

/// Whether a call failed in a way that is over when the server answers anything at all.
fn passes_by_itself(call: &ModelAnswer) -> bool {
    let class = call.class.as_deref().and_then(ErrorClass::from_name);
    use ErrorClass::{Certificate, ServerError, Timeout, Unreachable};
    matches!(class, Some(Unreachable | Certificate | ServerError | Timeout))
}

/// How the settings of a server begin.
fn settings(kind: ServerKind, engine: &str) -> &'static str {
    match kind {
        ServerKind::Model => "LISTEN_OPENAI",
        ServerKind::Speech if engine.starts_with("deepgram:") => "LISTEN_DEEPGRAM",
        ServerKind::Speech => "LISTEN_SPEECH",
    }
}

fn trouble(class: Option<ErrorClass>, of: &str) -> (Standing, String) {
    let (standing, words) = match class {
        Some(ErrorClass::KeyRejected) => {
            return (Standing::Away, format!("does not take the key: `{of}_API_KEY`"));
        }
        Some(ErrorClass::Forbidden) => {
            return (Standing::Away, format!("does not let this key do that: `{of}_API_KEY`"));
        }
        Some(ErrorClass::ModelNotFound) => {
            return (Standing::Away, format!("knows no such model or path: `{of}_MODEL`, `{of}_BASE_URL`"));
        }
        Some(ErrorClass::Unreachable) => {
            return (Standing::Away, format!("cannot be reached: `{of}_BASE_URL`"));
        }
        Some(ErrorClass::Certificate) => {
            let words = "speaks no TLS, or has no certificate that is accepted, of which the log says why";
            return (Standing::Away, format!("{words}: `{of}_BASE_URL`"));
        }
        Some(ErrorClass::QuotaExhausted) => (Standing::Away, "has no credit or quota left for this key"),
        Some(ErrorClass::ServerError) => (Standing::Away, "fails"),
        Some(ErrorClass::Timeout) => (Standing::Away, "does not answer in time"),
        Some(ErrorClass::RateLimited) => (Standing::Unwell, "asks to slow down"),
        Some(ErrorClass::Cut) => (Standing::Unwell, "broke off its last answer"),
        Some(ErrorClass::Malformed) => (Standing::Unwell, "gave its last answer in another form than agreed"),
        Some(ErrorClass::BadRequest) => (Standing::Unwell, "did not take the last request"),
        Some(ErrorClass::TooLong) => {
            (Standing::Unwell, "found the last request too long: `LISTEN_OPENAI_CONTEXT_TOKENS`")
        }
        Some(ErrorClass::ContentFilter) => (Standing::Well, "refused the last content, and answers"),
        None => (Standing::Unwell, "did something that this version does not know"),
    };
    (standing, words.to_owned())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

    use super::*;

    fn answer(seconds_ago: i64, class: Option<ErrorClass>, http_status: Option<u16>) -> ModelAnswer {
        ModelAnswer { seconds_ago, class: class.map(|class| class.as_str().to_owned()), http_status }
    }

    fn found(servers: Vec<ModelServer>, waiting: i64) -> ModelServers {
        let report = |(number, server)| operations::ServerReport {
            process: format!("host:{number}"),
            at: records::Timestamp::UNIX_EPOCH,
            servers: vec![server],
        };
        ModelServers { reports: servers.into_iter().enumerate().map(report).collect(), waiting }
    }

    fn server(
        open_for: Option<i64>,
        called: Option<ModelAnswer>,
        checked: Option<ModelAnswer>,
    ) -> ModelServer {
        ModelServer { kind: ServerKind::Model, engine: "openai:m@h".to_owned(), open_for, called, checked }
    }

    /// Otherwise the alert would fire until the next call.
    #[test]
    fn model_server_health_recovers_without_a_call() {
        let standing = |open_for, called_ago, class| {
            let called = Some(answer(called_ago, Some(ErrorClass::Unreachable), None));
            let servers = vec![server(Some(open_for), called, Some(answer(30, class, None)))];
            summaries(&found(servers, 0))[0].standing
        };
        assert_eq!(standing(0, 600, None), Standing::Well);
        assert_eq!(standing(0, 599, None), Standing::Away, "the next call may come any moment");
        assert_eq!(standing(1, 600, None), Standing::Away);
        assert_eq!(standing(0, 600, Some(ErrorClass::Unreachable)), Standing::Away);
    }

    fn one(servers: Vec<ModelServer>, waiting: i64) -> (Standing, String) {
        let mut all = summaries(&found(servers, waiting));
        assert_eq!(all.len(), 1, "one line per engine");
        let summary = all.remove(0);
        (summary.standing, summary.words)
    }

    #[test]
    fn model_server_health_is_the_newest_answer_of_any_process() {
        let key = answer(3, Some(ErrorClass::KeyRejected), Some(401));
        let servers = vec![server(None, Some(answer(90, None, None)), None), server(None, Some(key), None)];
        let said = "does not take the key: `LISTEN_OPENAI_API_KEY` (HTTP 401), 3 s ago; 2 jobs wait for it";
        assert_eq!(one(servers, 2), (Standing::Away, said.to_owned()));
        assert_eq!(
            one(vec![server(None, None, None)], 0),
            (Standing::Unknown, "was not asked yet".to_owned())
        );
        let well = vec![server(None, None, Some(answer(1, None, None)))];
        assert_eq!(one(well, 0), (Standing::Well, "answers, and takes the key, 1 s ago".to_owned()));
        let plain = vec![server(None, None, Some(answer(1, Some(ErrorClass::Certificate), None)))];
        let (standing, words) = one(plain, 0);
        let is_named = words.starts_with("speaks no TLS, or") && words.contains("`LISTEN_OPENAI_BASE_URL`");
        assert!(standing == Standing::Away && is_named, "{words}");
    }

    #[test]
    fn model_server_open_circuit_outweighs_a_model_list() {
        let away = answer(40, Some(ErrorClass::ServerError), Some(503));
        let open = server(Some(12), Some(away), Some(answer(1, None, None)));
        let said = "fails (HTTP 503), 40 s ago; its circuit is open in 1 of 2 processes, the first call in 12 s or later tries it; \
                    1 job waits for it";
        assert_eq!(one(vec![open.clone(), server(None, None, None)], 1), (Standing::Away, said.to_owned()));
        // It said "next try in 0 s" for as long as nobody called.
        let (_, words) = one(vec![open.clone(), ModelServer { open_for: Some(0), ..open }], 0);
        assert!(words.ends_with("circuit is open in 2 of 2 processes, the next call tries it"), "{words}");
    }

    #[test]
    fn model_server_that_recovered_names_how_to_run_waiting_jobs() {
        let back = vec![server(None, Some(answer(2, None, None)), None)];
        let said = "answers, and takes the key, 2 s ago; 20 jobs wait for it: `listen jobs run-now --all` ends their waits";
        assert_eq!(one(back, 20), (Standing::Well, said.to_owned()));
    }

    #[test]
    fn model_server_without_a_model_list_is_not_reported_to_accept_the_key() {
        let check = || Some(answer(1, None, Some(404)));
        let unknown = "answers, 1 s ago; the next call shows whether it takes the key".to_owned();
        assert_eq!(one(vec![server(None, None, check())], 0), (Standing::Well, unknown.clone()));
        let after = |class, status| server(None, Some(answer(90, class, status)), check());
        let taken = "answers, and takes the key, 90 s ago".to_owned();
        assert_eq!(one(vec![after(None, None)], 0), (Standing::Well, taken));
        let refused = "does not take the key: `LISTEN_OPENAI_API_KEY` (HTTP 401), 90 s ago".to_owned();
        assert_eq!(one(vec![after(Some(ErrorClass::KeyRejected), Some(401))], 0), (Standing::Away, refused));
        let back = after(Some(ErrorClass::ServerError), Some(503));
        assert_eq!(one(vec![back], 0), (Standing::Well, unknown));
    }

    #[test]
    fn speech_server_health_names_its_settings_and_no_jobs() {
        let refused = speech::ServerHealth {
            id: "deepgram:nova-3@api.deepgram.com".to_owned(),
            open_for: None,
            called: None,
            checked: Some(speech::ServerAnswer {
                age: Duration::from_secs(4),
                reason: Some(Reason::KeyRejected),
                http_status: Some(401),
            }),
        };
        let well = server(None, Some(answer(2, None, None)), None);
        let (engine, health) = of_speech(refused);
        let all = summaries(&found(vec![to_report(ServerKind::Speech, engine, &health), well], 3));
        let kinds: Vec<ServerKind> = all.iter().map(|summary| summary.kind).collect();
        assert_eq!(kinds, [ServerKind::Model, ServerKind::Speech]);
        let speech = &all[1];
        assert_eq!(
            (speech.standing, speech.words.as_str()),
            (Standing::Away, "does not take the key: `LISTEN_DEEPGRAM_API_KEY` (HTTP 401), 4 s ago")
        );
    }

    #[test]
    fn report_of_an_older_version_is_of_a_model_server() {
        let old = r#"{"engine":"openai:m@h","open_for":null,"called":null,"checked":null}"#;
        assert_eq!(serde_json::from_str::<ModelServer>(old).unwrap(), server(None, None, None));
    }
}

//! The model servers that the processes ask: what this one reports, and what all reports come to.

use std::{collections::BTreeMap, time::Duration};

use job::ErrorClass;
use ledger::Ledger;
use operations::{ModelAnswer, ModelServer, ModelServers, Operations};
use stages::{Engines, ServerAnswer, ServerHealth};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    lifecycle::Lifecycle,
    wiring::{App, process_name},
};

/// How often a process reports.
const EVERY: Duration = Duration::from_secs(5);
/// A server that nothing was heard of for so long is asked whether it is there.
const UNHEARD: Duration = Duration::from_secs(60);

/// Reports the model server of this process until it stops; a process without one reports nothing.
pub(crate) fn start(app: &App, tasks: &TaskTracker, lifecycle: &Lifecycle) {
    if app.engines().describe.server().is_some() {
        tasks.spawn(report(app.ledger.clone(), app.engines().clone(), lifecycle.soft.clone()));
    }
}

async fn report(ledger: Ledger, engines: Engines, soft: CancellationToken) {
    let process = process_name();
    while let Some(health) = engines.describe.server() {
        let heard = [health.called, health.checked].into_iter().flatten().map(|answer| answer.age).min();
        if heard.is_none_or(|age| age >= UNHEARD) {
            // Bounded by the engine; a process that is being stopped does not wait for it.
            if soft.run_until_cancelled(engines.describe.check_server()).await.is_none() {
                return;
            }
        }
        let server = server(engines.describe.id(), &engines.describe.server().unwrap_or(health));
        // The process's own report logs it when the database is unreachable.
        let _ = ledger.db().in_time(Operations::new(&ledger).report_servers(&process, &[server])).await;
        if soft.run_until_cancelled(tokio::time::sleep(EVERY)).await.is_none() {
            return;
        }
    }
}

fn server(engine: &str, health: &ServerHealth) -> ModelServer {
    let seconds = |age: Duration| i64::try_from(age.as_secs()).unwrap_or(i64::MAX);
    let answer = |answer: ServerAnswer| ModelAnswer {
        seconds_ago: seconds(answer.age),
        class: answer.class.map(|class| class.as_str().to_owned()),
        http_status: answer.http_status,
    };
    ModelServer {
        engine: engine.to_owned(),
        open_for: health.open_for.map(seconds),
        called: health.called.map(answer),
        checked: health.checked.map(answer),
    }
}

/// How a model server stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It answers.
    Well,
    /// Nothing was heard of it yet.
    Unknown,
    /// It answers, and not as it should.
    Unwell,
    /// Nothing that needs it is finished.
    Away,
}

/// What the reports of all living processes come to, of one engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Summary {
    /// Model and host.
    pub(crate) engine: String,
    /// How it stands.
    pub(crate) standing: Standing,
    /// A sentence without its engine; commands and settings stand between backticks.
    pub(crate) words: String,
}

/// What the reports come to, by engine. Pure.
pub(crate) fn summaries(found: &ModelServers) -> Vec<Summary> {
    let mut engines: BTreeMap<&str, Vec<&ModelServer>> = BTreeMap::new();
    for server in found.reports.iter().flat_map(|report| &report.servers) {
        engines.entry(&server.engine).or_default().push(server);
    }
    engines.into_iter().map(|(engine, servers)| summary(engine, &servers, found.waiting)).collect()
}

fn summary(engine: &str, servers: &[&ModelServer], waiting: i64) -> Summary {
    let answers = servers.iter().flat_map(|server| server.called.iter().chain(&server.checked));
    let newest = answers.min_by_key(|answer| answer.seconds_ago);
    let called = servers.iter().filter_map(|server| server.called.as_ref());
    let called = called.min_by_key(|answer| answer.seconds_ago);
    let open: Vec<i64> = servers.iter().filter_map(|server| server.open_for).collect();
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
        (Some(answer), None) if answer.class.is_none() => {
            (Standing::Well, "answers, and takes the key".to_owned())
        }
        (Some(answer), class) => {
            let (standing, what) = trouble(class);
            let status = answer.http_status.map(|status| format!(" (HTTP {status})")).unwrap_or_default();
            (standing, format!("{what}{status}"))
        }
    };
    let standing = if open.is_empty() { standing } else { Standing::Away };
    let mut words = what;
    if let Some(answer) = last {
        words.push_str(&format!(", {} s ago", answer.seconds_ago));
    }
    if let Some(longest) = open.iter().max() {
        let of = if servers.len() == 1 {
            String::new()
        } else {
            format!(" in {} of {} processes", open.len(), servers.len())
        };
        words.push_str(&format!("; its circuit is open{of}, next try in {longest} s at the latest"));
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
    Summary { engine: engine.to_owned(), standing, words }
}

fn trouble(class: Option<ErrorClass>) -> (Standing, &'static str) {
    match class {
        Some(ErrorClass::KeyRejected) => (Standing::Away, "does not take the key: `LISTEN_OPENAI_API_KEY`"),
        Some(ErrorClass::Forbidden) => {
            (Standing::Away, "does not let this key do that: `LISTEN_OPENAI_API_KEY`")
        }
        Some(ErrorClass::ModelNotFound) => {
            (Standing::Away, "knows no such model or path: `LISTEN_OPENAI_MODEL`, `LISTEN_OPENAI_BASE_URL`")
        }
        Some(ErrorClass::QuotaExhausted) => (Standing::Away, "has no credit or quota left for this key"),
        Some(ErrorClass::ServerError) => (Standing::Away, "fails"),
        Some(ErrorClass::Timeout) => (Standing::Away, "does not answer in time"),
        Some(ErrorClass::Unreachable) => (Standing::Away, "cannot be reached: `LISTEN_OPENAI_BASE_URL`"),
        Some(ErrorClass::RateLimited) => (Standing::Unwell, "asks to slow down"),
        Some(ErrorClass::Cut) => (Standing::Unwell, "broke off its last answer"),
        Some(ErrorClass::Malformed) => (Standing::Unwell, "gave its last answer in another form than agreed"),
        Some(ErrorClass::BadRequest) => (Standing::Unwell, "did not take the last request"),
        Some(ErrorClass::TooLong) => {
            (Standing::Unwell, "found the last request too long: `LISTEN_OPENAI_CONTEXT_TOKENS`")
        }
        Some(ErrorClass::ContentFilter) => (Standing::Well, "refused the last content, and answers"),
        None => (Standing::Unwell, "did something that this version does not know"),
    }
}

#[cfg(test)]
mod tests {
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
        ModelServer { engine: "openai:m@h".to_owned(), open_for, called, checked }
    }

    fn one(servers: Vec<ModelServer>, waiting: i64) -> (Standing, String) {
        let mut all = summaries(&found(servers, waiting));
        assert_eq!(all.len(), 1, "one line per engine");
        let summary = all.remove(0);
        (summary.standing, summary.words)
    }

    #[test]
    fn the_newest_answer_of_any_process_counts() {
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
    }

    #[test]
    fn an_open_circuit_says_more_than_a_list_of_models() {
        let away = answer(40, Some(ErrorClass::ServerError), Some(503));
        let open = server(Some(12), Some(away), Some(answer(1, None, None)));
        let said = "fails (HTTP 503), 40 s ago; its circuit is open in 1 of 2 processes, next try in 12 s at the latest; \
                    1 job waits for it";
        assert_eq!(one(vec![open, server(None, None, None)], 1), (Standing::Away, said.to_owned()));
    }

    #[test]
    fn a_server_that_is_back_and_is_waited_for_says_how_to_hurry() {
        let back = vec![server(None, Some(answer(2, None, None)), None)];
        let said = "answers, and takes the key, 2 s ago; 20 jobs wait for it: `listen jobs run-now --all` ends their waits";
        assert_eq!(one(back, 20), (Standing::Well, said.to_owned()));
    }
}

//! The line to a model server (`upstream` has the retries and the circuit), and what its last failure means to
//! a job.

use std::sync::Arc;
use std::time::Duration;

use job::{ErrorClass, FailureCode};
use reqwest::Response;
use serde_json::Value;
use stages::{Failure, ServerAnswer, ServerHealth};
use upstream::{CHECK, LastAnswers, Patience, Unanswered as LineFailure};

use super::Meter;
use super::complaint::Field;
use super::server::{Fault, Server};

/// What was wrong with an answer, if anything, and then its status.
type Answer = (Option<ErrorClass>, Option<u16>);

/// Why a call gave no answer, when all tries are over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unanswered {
    /// The server may merely not know a field of the request, perhaps this one.
    NotUnderstood(Option<Field>, u16),
    /// Anything else.
    Failed(Failure),
}

impl From<Unanswered> for Failure {
    fn from(unanswered: Unanswered) -> Self {
        match unanswered {
            Unanswered::NotUnderstood(field, status) => not_understood(field, status),
            Unanswered::Failed(failure) => failure,
        }
    }
}

/// A server with its line.
#[derive(Clone)]
pub(super) struct Line {
    server: Server,
    line: upstream::Line,
    meter: Arc<dyn Meter>,
    answers: LastAnswers<Answer>,
}

impl Line {
    pub(super) fn new(server: Server, patience: Patience, meter: Arc<dyn Meter>, seed: [u8; 32]) -> Self {
        Self::counted(server, patience, meter, seed, true)
    }

    /// One for another model of the server: its circuit is its own, and not shown as the server's.
    pub(super) fn beside(server: Server, patience: Patience, meter: Arc<dyn Meter>, seed: [u8; 32]) -> Self {
        Self::counted(server, patience, meter, seed, false)
    }

    fn counted(
        server: Server,
        patience: Patience,
        meter: Arc<dyn Meter>,
        seed: [u8; 32],
        shows_circuit: bool,
    ) -> Self {
        let calls = Calls { meter: Arc::clone(&meter), shows_circuit };
        let line = upstream::Line::new(patience, Arc::new(calls), seed);
        Self { server, line, meter, answers: LastAnswers::default() }
    }

    /// The same line with another key, whose answers say nothing of the service's.
    pub(super) fn with_server(&self, server: Server) -> Self {
        Self { server, answers: LastAnswers::default(), ..self.clone() }
    }

    pub(super) fn server(&self) -> &Server {
        &self.server
    }

    pub(super) fn meter(&self) -> &dyn Meter {
        &*self.meter
    }

    /// An operator says that the server is back: it is asked, also where its circuit is open.
    pub(super) fn ask_again(&self) {
        self.line.ask_again();
    }

    /// What is known of the server.
    pub(super) fn health(&self) -> ServerHealth {
        let answer =
            |(age, (class, http_status)): (Duration, Answer)| ServerAnswer { age, class, http_status };
        ServerHealth {
            open_for: self.line.open_for(),
            called: self.answers.last_call().map(answer),
            checked: self.answers.last_check().map(answer),
        }
    }

    /// Asks whether the server is there and takes the key; outside of the circuit, which counts calls alone.
    pub(super) async fn check(&self) {
        let checked = tokio::time::timeout(CHECK, self.server.is_there()).await;
        match checked.unwrap_or(Err((ErrorClass::Timeout, None))) {
            Ok(without_list) => self.answers.checked((None, without_list)),
            Err((class, http_status)) => self.answers.checked((Some(class), http_status)),
        }
    }

    /// Keeps what one try came to: the circuit may open between the tries of a call.
    async fn tried<T>(&self, attempt: impl Future<Output = Result<T, Fault>>) -> Result<T, Fault> {
        let answer = attempt.await;
        match &answer {
            Ok(_) => self.answers.called((None, None)),
            Err(fault) => self.keep(fault),
        }
        answer
    }

    fn keep(&self, fault: &Fault) {
        match fault {
            Fault::NotUnderstood(field, status) => {
                let class = not_understood(*field, *status).class;
                self.answers.called((class, class.and(Some(*status))));
            }
            Fault::Failed { class, http_status, .. } => self.answers.called((Some(*class), *http_status)),
        }
    }

    /// Keeps what a call came to, also of a try that was given up for its time; one that was not made, because the circuit is open, came to nothing.
    fn note<T>(&self, answer: Result<T, LineFailure<Fault>>) -> Result<T, Unanswered> {
        if let Err(LineFailure::Failed { fault, .. }) = &answer {
            self.keep(fault);
        }
        answer.map_err(unanswered)
    }

    /// Posts `body` for `stage` and returns the body of a good answer, within the deadline, all tries and
    /// the waits between them included.
    pub(super) async fn post(
        &self,
        stage: &'static str,
        path: &str,
        body: &Value,
    ) -> Result<Vec<u8>, Unanswered> {
        self.note(self.line.call(stage, || self.tried(self.server.post(path, body))).await)
    }

    /// The same, until the head of a good answer is there: its body is the caller's to read.
    pub(super) async fn open(
        &self,
        stage: &'static str,
        path: &str,
        body: &Value,
    ) -> Result<Response, Unanswered> {
        self.note(self.line.call(stage, || self.tried(self.server.open(path, body))).await)
    }
}

fn unanswered(failed: LineFailure<Fault>) -> Unanswered {
    match failed {
        LineFailure::CircuitOpen(wait) => {
            Unanswered::Failed(Failure::while_open(FailureCode::ModelUnavailable, wait))
        }
        LineFailure::Failed { fault: Fault::NotUnderstood(field, status), .. } => {
            Unanswered::NotUnderstood(field, status)
        }
        LineFailure::Failed {
            fault: Fault::Failed { code, retry_after, class, http_status, .. },
            open_for,
        } => Unanswered::Failed(Failure {
            class: Some(class),
            http_status,
            ..failure(code, retry_after, open_for)
        }),
    }
}

/// The server takes the request in no manner.
pub(super) fn not_understood(field: Option<Field>, http_status: u16) -> Failure {
    let class = match (field, http_status) {
        (Some(Field::Length), _) => ErrorClass::TooLong,
        (_, 404) => ErrorClass::ModelNotFound,
        _ => ErrorClass::BadRequest,
    };
    Failure { http_status: Some(http_status), ..Failure::of_class(FailureCode::ModelRejected, class) }
}

/// While the circuit is open, an unavailable server costs the job no attempt.
fn failure(code: FailureCode, retry_after: Option<Duration>, open_for: Option<Duration>) -> Failure {
    match open_for {
        Some(wait) if matches!(code, FailureCode::ModelUnavailable | FailureCode::ModelTimeout) => {
            Failure::while_open(code, wait.max(retry_after.unwrap_or_default()))
        }
        _ => Failure::after(code, retry_after),
    }
}

struct Calls {
    meter: Arc<dyn Meter>,
    shows_circuit: bool,
}

impl upstream::Meter for Calls {
    fn called(&self, purpose: &'static str, outcome: &'static str) {
        self.meter.called(purpose, outcome);
    }

    fn circuit(&self, is_open: bool) {
        if self.shows_circuit {
            self.meter.circuit(is_open);
        }
    }
}

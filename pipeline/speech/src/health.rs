//! What the speech server last answered, kept for operators.

use std::time::Duration;

use tracing::{Instrument, field::Empty};
use upstream::{CHECK, Fault as _, LastAnswers, Line, Unanswered};

use crate::Reason;
use crate::fault::Fault;

/// What is known of an engine's server. Calls with users' own keys do not count: they say nothing of the service's key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerHealth {
    /// Engine, model and host, never a key: `openai:gpt-transcribe@speech.example`.
    pub id: String,
    /// For how long its circuit is still open, if it is.
    pub open_for: Option<Duration>,
    /// The last call of a session.
    pub called: Option<ServerAnswer>,
    /// The last time it was asked whether it is there and takes the key.
    pub checked: Option<ServerAnswer>,
}

/// One answer of a server, or its silence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerAnswer {
    /// How long ago.
    pub age: Duration,
    /// What was wrong; `None`: it was a good answer.
    pub reason: Option<Reason>,
    /// The status, where it was not a good answer and there was one. With no reason: the server has no list of models, so
    /// that a check says nothing of the key.
    pub http_status: Option<u16>,
}

type Answer = (Option<Reason>, Option<u16>);

/// The last answers of one server to one key. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct Answers(LastAnswers<Answer>);

impl Answers {
    /// Calls through the line and keeps what each try came to: the circuit may open between the tries of a call. A call
    /// that was not made, because the circuit is open, came to nothing. `purpose` is the name of its span.
    pub(crate) async fn call<T, Try: Future<Output = Result<T, Fault>>>(
        &self,
        line: &Line,
        purpose: &'static str,
        attempt: impl Fn() -> Try,
    ) -> Result<T, Unanswered<Fault>> {
        let span = tracing::info_span!(
            target: trace::TARGET,
            "speech",
            otel.name = purpose,
            otel.kind = "client",
            otel.status_code = Empty,
            outcome = Empty,
            http.response.status_code = Empty,
        );
        let answer = line.call(purpose, || self.tried(attempt())).instrument(span.clone()).await;
        record(&span, &answer);
        if let Err(Unanswered::Failed { fault, .. }) = &answer {
            // Also a try that was given up for its time.
            self.0.called(answer_of(Some(fault)));
        }
        answer
    }

    async fn tried<T>(&self, attempt: impl Future<Output = Result<T, Fault>>) -> Result<T, Fault> {
        let answer = attempt.await;
        self.0.called(answer_of(answer.as_ref().err()));
        answer
    }

    /// Keeps what a check came to, which may take 10 seconds; outside of the circuit, which counts calls alone.
    pub(crate) async fn check(&self, attempt: impl Future<Output = Result<Option<u16>, Fault>>) {
        let checked = tokio::time::timeout(CHECK, attempt).await.unwrap_or_else(|_| Err(Fault::silent()));
        self.0.checked(match checked {
            Ok(without_list) => (None, without_list),
            Err(fault) => answer_of(Some(&fault)),
        });
    }

    pub(crate) fn health(&self, id: String, line: &Line) -> ServerHealth {
        let answer =
            |(age, (reason, http_status)): (Duration, Answer)| ServerAnswer { age, reason, http_status };
        ServerHealth {
            id,
            open_for: line.open_for(),
            called: self.0.last_call().map(answer),
            checked: self.0.last_check().map(answer),
        }
    }
}

/// How a call ended, in the words of `listen_speech_requests_total`.
fn record<T>(span: &tracing::Span, answer: &Result<T, Unanswered<Fault>>) {
    let (outcome, http_status) = match answer {
        Ok(_) => ("answered", None),
        Err(Unanswered::CircuitOpen(_)) => ("circuit_open", None),
        Err(Unanswered::Failed { fault, .. }) => (fault.outcome(), fault.http_status),
    };
    span.record("outcome", outcome);
    if let Some(status) = http_status {
        span.record("http.response.status_code", status);
    }
    if answer.is_err() {
        span.record("otel.status_code", "ERROR");
    }
}

fn answer_of(fault: Option<&Fault>) -> Answer {
    (fault.map(|fault| fault.reason), fault.and_then(|fault| fault.http_status))
}

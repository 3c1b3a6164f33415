//! What can be answered instead of what was asked for. Bodies are FastAPI's (`{"detail": …}`), with a code beside it.

mod code;
mod problem;

use std::sync::Arc;

use axum::{
    Json,
    http::{HeaderName, HeaderValue, header},
    response::{IntoResponse, Response},
};
use records::{Budget, OverBudget};
use serde_json::{Value, json};

pub(crate) use self::code::Code;
pub use self::code::page;
pub(crate) use self::problem::{Problem, Step};

use crate::Scope;

/// What a handler gives: its answer in JSON, or what is answered instead.
pub(crate) type Reply<T> = Result<Json<T>, Error>;

/// The same where it is more than JSON.
pub(crate) type Answered = Result<Response, Error>;

/// The documented statuses other than success.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// Refused in the words of its code.
    #[error("{0}")]
    Refused(Code),
    /// The same, with the whole seconds until asking again makes sense.
    #[error("{0}")]
    Later(Code, u64),
    /// 403: the key lacks a scope.
    #[error("missing scope {0}")]
    Forbidden(Scope),
    /// 403: the operator has switched apps off, or those of others.
    #[error("apps are not allowed here")]
    AppsNotAllowed(&'static str),
    /// 404: the user has no such thing; names the kind of thing.
    #[error("{0} not found")]
    NotFound(&'static str),
    /// 422: every failing field.
    #[error("invalid request")]
    Invalid(Vec<Problem>),
    /// 500: an answer that cannot be written as JSON.
    #[error("an answer cannot be written")]
    Unwritable,
    /// 503 when it may pass, else 500.
    #[error(transparent)]
    Ledger(#[from] db::Error),
}

/// Left on an answer for the middleware, which knows the request's id: it logs the cause, once.
#[derive(Clone, Debug)]
pub(crate) struct Cause(pub(crate) Arc<db::Error>);

/// How long a client should leave a service alone that is unavailable for the moment.
const PASSING_SECONDS: u64 = 2;
/// How long before a place among those who wait with their own keys is likely to be free.
const FULL_SECONDS: u64 = 30;
/// How long before another live socket is likely to be free.
const SOCKET_SECONDS: u64 = 10;
/// How long before asking again whether something is configured: an operator must change that first.
const UNCONFIGURED_SECONDS: u64 = 60;

impl IntoResponse for Error {
    fn into_response(self) -> Response {
        match self {
            Self::Refused(code) => refusal(code),
            Self::Later(code, seconds) => later(refusal(code), seconds),
            Self::Forbidden(scope) => {
                detailed(Code::MissingScope, format!("Missing required scope: {scope}"))
            }
            Self::AppsNotAllowed(why) => detailed(Code::AppsNotAllowed, why),
            Self::NotFound(kind) => detailed(Code::NotFound, format!("{kind} not found")),
            Self::Invalid(problems) => invalid(Code::Invalid, &problems),
            Self::Unwritable => internal(),
            Self::Ledger(error) => broken(error),
        }
    }
}

/// The header that always comes with a refusal.
fn header_of(code: Code) -> Option<(HeaderName, HeaderValue)> {
    let seconds = match code {
        Code::NotAuthenticated => {
            return Some((header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer")));
        }
        Code::NoUpgrade => return Some((header::UPGRADE, HeaderValue::from_static("websocket"))),
        // The rest of the body is not read.
        Code::TooSlow => return Some((header::CONNECTION, HeaderValue::from_static("close"))),
        Code::Unavailable | Code::Overloaded | Code::NoTurnFree | Code::TooManySearches => PASSING_SECONDS,
        Code::TooManySockets | Code::NoSocketFree => SOCKET_SECONDS,
        Code::ByokRunsFull => FULL_SECONDS,
        Code::WebPushUnavailable => UNCONFIGURED_SECONDS,
        // Of what only an operator changes, repeating never helps.
        _ => return None,
    };
    Some((header::RETRY_AFTER, seconds.into()))
}

/// A refusal on its way to the middleware, which knows the request's id and writes it into the body.
#[derive(Clone, Debug)]
pub(crate) struct Refusal {
    code: Code,
    detail: Value,
}

impl Refusal {
    /// FastAPI's `detail`, and what is beside it.
    pub(crate) fn body(&self, request_id: Option<&str>) -> Value {
        json!({
            "detail": self.detail,
            "code": self.code.as_str(),
            "doc_url": self.code.doc_url(),
            "request_id": request_id,
        })
    }
}

/// The body of a refusal in an example of the document.
pub(crate) fn example(status: u16, detail: &str) -> Value {
    example_of(Code::of_example(status, detail), detail)
}

/// The same of a code that has several words.
pub(crate) fn example_of(code: Code, detail: &str) -> Value {
    Refusal { code, detail: detail.into() }.body(Some("0197c0de-5a1b-7c3d-9e2f-000000000001"))
}

/// A refusal whose words are always the same.
pub(crate) fn refusal(code: Code) -> Response {
    let mut response = detailed(code, code.detail());
    response.headers_mut().extend(header_of(code));
    response
}

/// A refusal that says what it is about.
pub(crate) fn detailed(code: Code, detail: impl Into<Value>) -> Response {
    let refusal = Refusal { code, detail: detail.into() };
    let mut response = (code.status(), Json(refusal.body(None))).into_response();
    response.extensions_mut().insert(refusal);
    response
}

/// The same answer with other words, if it is this refusal.
pub(crate) fn in_words(mut response: Response, code: Code, words: &'static str) -> Response {
    if let Some(refusal) =
        response.extensions_mut().get_mut::<Refusal>().filter(|refusal| refusal.code == code)
    {
        refusal.detail = words.into();
    }
    response
}

/// 500; the middleware adds the request's id to its words.
pub(crate) fn internal() -> Response {
    detailed(Code::Internal, "Internal Server Error")
}

fn invalid(code: Code, problems: &[Problem]) -> Response {
    detailed(code, problems.iter().map(Problem::shape).collect::<Value>())
}

fn later(mut response: Response, seconds: u64) -> Response {
    response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
    response
}

/// A page that is longer than one answer may be.
fn too_much() -> Problem {
    let loc = vec!["query".into(), "limit".into()];
    Problem::rule(loc, "this page is too long for one answer: ask for fewer rows, or without transcripts")
}

/// 429 with the time after which there is room again; 422 where time makes none.
fn over_budget(over: OverBudget) -> Response {
    let limit = over.limit;
    let (code, words) = match over.budget {
        Budget::ConversationsPerDay => (
            Code::DailyLimit,
            format!("The daily limit of {limit} conversations is reached: it starts anew at midnight UTC"),
        ),
        Budget::WaitingJobs => (
            Code::WaitingLimit,
            format!(
                "The limit of {limit} conversations being processed is reached: try again when some are done"
            ),
        ),
        Budget::Bytes => (
            Code::StorageFull,
            format!(
                "the storage limit of {limit} bytes would be exceeded: delete conversations, or ask for a higher limit"
            ),
        ),
    };
    let mut response = match over.retry_after {
        Some(seconds) => later(detailed(code, words), seconds),
        None => invalid(Code::StorageFull, &[Problem::rule(vec!["body".into()], &words)]),
    };
    response.extensions_mut().insert(over.budget);
    response
}

fn broken(error: db::Error) -> Response {
    match error {
        db::Error::Repeated => return later(refusal(Code::StillRunning), PASSING_SECONDS),
        db::Error::OverBudget(over) => return over_budget(over),
        db::Error::TooMuch => return Error::Invalid(vec![too_much()]).into_response(),
        // As of a key that was revoked a moment earlier.
        db::Error::UserDeleted => return refusal(Code::NotAuthenticated),
        _ => (),
    }
    // Before `listen migrate` was run nothing is broken: readiness says so, and it passes.
    let is_passing = error.is_passing() || error.trouble() == Some(db::Trouble::Schema);
    let mut response = match is_passing {
        true => refusal(Code::Unavailable),
        false => internal(),
    };
    response.extensions_mut().insert(Cause(Arc::new(error)));
    response
}

#[cfg(test)]
mod tests {
    use axum::http::StatusCode;

    use super::*;

    #[test]
    fn query_over_the_database_limits_is_422_and_contention_503() {
        let answer = Error::from(db::Error::TooMuch).into_response();
        assert_eq!(answer.status(), StatusCode::UNPROCESSABLE_ENTITY);
        assert!(answer.extensions().get::<Cause>().is_none(), "nothing broke");
        let passing = Error::from(db::Error::Contended { doing: "asking" }).into_response();
        assert_eq!(passing.status(), StatusCode::SERVICE_UNAVAILABLE);
    }
}

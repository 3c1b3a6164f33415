//! What can be answered instead of what was asked for. Bodies are FastAPI's (`{"detail": …}`), with a code beside it.

mod code;
mod problem;

use std::sync::Arc;

use axum::{
    Json,
    http::{HeaderValue, header},
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

/// The documented statuses other than success.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// 401: no key, or none that is known, live and well formed.
    #[error("not authenticated")]
    NotAuthenticated,
    /// 403: the key lacks a scope.
    #[error("missing scope {0}")]
    Forbidden(Scope),
    /// 403: a good identity token of another identity than the configured invoker's.
    #[error("not the invoker")]
    NotInvoker,
    /// 503: the keys that verify identity tokens could not be fetched yet.
    #[error("no verification keys")]
    NoVerificationKeys {
        /// Whole seconds until asking again makes sense.
        retry_after: u64,
    },
    /// 403: only the owner of an app may do this.
    #[error("not the owner")]
    NotOwner,
    /// 403: the operator has switched apps off, or those of others.
    #[error("apps are not allowed here")]
    AppsNotAllowed(&'static str),
    /// 403: the app may not write to this user. The same for a key of another app, a user who has not installed the app, and a
    /// user who does not exist: an app finds out nothing about users.
    #[error("the app may not write to this user")]
    MayNotWrite,
    /// 403: the app's manifest does not enable messages.
    #[error("messages are not enabled")]
    MessagesNotEnabled,
    /// 400: the user has not finished the app's own setup.
    #[error("setup is not completed")]
    SetupNotCompleted,
    /// 403: a live socket names another user than the key's.
    #[error("another user")]
    OtherUser,
    /// 426: a live socket's address was asked for without an upgrade.
    #[error("no upgrade")]
    NoUpgrade,
    /// 429: the user has as many live sockets as one may.
    #[error("the user has too many live sockets")]
    TooManySockets,
    /// 429: other searches of the user took the turns of this one.
    #[error("the user searches too often at once")]
    TooManySearches,
    /// 503: the process has as many live sockets as it may, or is stopping.
    #[error("no room for a live socket")]
    NoSocketFree,
    /// 409: a turn of the assistant is running in the chat.
    #[error("a turn is running")]
    TurnRunning {
        /// Whole seconds until asking again makes sense.
        retry_after: u64,
    },
    /// 503: the process runs as many turns as it may, or is stopping.
    #[error("no room for a turn")]
    NoTurnFree,
    /// 422: every failing field.
    #[error("invalid request")]
    Invalid(Vec<Problem>),
    /// 400: the body is not UTF-8, or broke off.
    #[error("unreadable body")]
    UnreadableBody,
    /// 408: the body has not arrived in time. The connection is closed, because its rest is not read.
    #[error("slow body")]
    TooSlow,
    /// 404: the user has no such thing; names the kind of thing.
    #[error("{0} not found")]
    NotFound(&'static str),
    /// 404: no such path.
    #[error("unknown path")]
    UnknownPath,
    /// 405; the router adds `Allow`.
    #[error("method not allowed")]
    MethodNotAllowed,
    /// 409: right, but not now.
    #[error("conflict")]
    Conflict(Code),
    /// 409: a request of the same name has not been answered yet.
    #[error("still running")]
    StillRunning {
        /// Whole seconds until asking again makes sense.
        retry_after: u64,
    },
    /// 413: over 4 MiB.
    #[error("body too large")]
    TooLarge,
    /// 429: the key's bucket is empty. The middleware adds the RateLimit fields, as to every answer to a key.
    #[error("rate limit reached")]
    TooManyRequests {
        /// Whole seconds until the next request is let in.
        retry_after: u64,
    },
    /// 503: durable dispatch is not configured; nothing was changed.
    #[error("finalization is not configured")]
    FinalizationUnavailable,
    /// 503: the operator has set no key for web push; nothing was changed.
    #[error("web push is not configured")]
    WebPushUnavailable,
    /// 503: nothing was heard of the work in time. It may have been done.
    #[error("no answer was found in time")]
    NoAnswer,
    /// 503: request bodies and unsent answers hold all the memory that they may, or all that this user may.
    #[error("too much memory is held")]
    Overloaded,
    /// 500: an answer that cannot be written as JSON.
    #[error("an answer cannot be written")]
    Unwritable,
    /// 503: too many jobs wait in this process for a run with their users' keys; nothing was changed.
    #[error("too many keyed runs wait")]
    ByokRunsFull,
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
        let code = match self {
            Self::NotAuthenticated => {
                let mut response = refusal(Code::NotAuthenticated);
                response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
                return response;
            }
            Self::Forbidden(scope) => {
                return detailed(Code::MissingScope, format!("Missing required scope: {scope}"));
            }
            Self::NoVerificationKeys { retry_after } => {
                return later(refusal(Code::NoVerificationKeys), retry_after);
            }
            Self::AppsNotAllowed(why) => return detailed(Code::AppsNotAllowed, why),
            Self::NoUpgrade => {
                let mut response = refusal(Code::NoUpgrade);
                response.headers_mut().insert(header::UPGRADE, HeaderValue::from_static("websocket"));
                return response;
            }
            Self::TooManySockets => return later(refusal(Code::TooManySockets), SOCKET_SECONDS),
            Self::TooManySearches => return later(refusal(Code::TooManySearches), PASSING_SECONDS),
            Self::NoSocketFree => return later(refusal(Code::NoSocketFree), SOCKET_SECONDS),
            Self::TurnRunning { retry_after } => return later(refusal(Code::TurnRunning), retry_after),
            Self::NoTurnFree => return later(refusal(Code::NoTurnFree), PASSING_SECONDS),
            Self::Invalid(problems) => return invalid(Code::Invalid, &problems),
            Self::TooSlow => {
                let mut response = refusal(Code::TooSlow);
                response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
                return response;
            }
            Self::NotFound(kind) => return detailed(Code::NotFound, format!("{kind} not found")),
            Self::StillRunning { retry_after } => return still_running(retry_after),
            Self::TooManyRequests { retry_after } => {
                return later(refusal(Code::TooManyRequests), retry_after);
            }
            Self::WebPushUnavailable => {
                return later(refusal(Code::WebPushUnavailable), UNCONFIGURED_SECONDS);
            }
            Self::NoAnswer => return unavailable(),
            Self::Overloaded => return later(refusal(Code::Overloaded), PASSING_SECONDS),
            Self::Unwritable => return internal(),
            Self::ByokRunsFull => return later(refusal(Code::ByokRunsFull), FULL_SECONDS),
            Self::Ledger(error) => return broken(error),
            // Repeating never helps: there is no Retry-After.
            Self::FinalizationUnavailable => Code::FinalizationUnavailable,
            Self::NotInvoker => Code::NotInvoker,
            Self::NotOwner => Code::NotOwner,
            Self::MayNotWrite => Code::MayNotWrite,
            Self::MessagesNotEnabled => Code::MessagesNotEnabled,
            Self::SetupNotCompleted => Code::SetupNotCompleted,
            Self::OtherUser => Code::OtherUser,
            Self::UnreadableBody => Code::UnreadableBody,
            Self::UnknownPath => Code::UnknownPath,
            Self::MethodNotAllowed => Code::MethodNotAllowed,
            Self::Conflict(code) => code,
            Self::TooLarge => Code::TooLarge,
        };
        refusal(code)
    }
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
    Refusal { code: Code::of_example(status, detail), detail: detail.into() }
        .body(Some("0197c0de-5a1b-7c3d-9e2f-000000000001"))
}

/// A refusal whose words are always the same.
pub(crate) fn refusal(code: Code) -> Response {
    detailed(code, code.detail())
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

fn still_running(retry_after: u64) -> Response {
    later(refusal(Code::StillRunning), retry_after)
}

fn unavailable() -> Response {
    later(refusal(Code::Unavailable), PASSING_SECONDS)
}

/// A page whose transcripts are longer than one answer may be.
fn too_much() -> Problem {
    let loc = vec!["query".into(), "limit".into()];
    Problem::rule(
        loc,
        "the transcripts of this page are too long for one answer: ask for fewer conversations",
    )
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
        db::Error::Repeated => return still_running(PASSING_SECONDS),
        db::Error::OverBudget(over) => return over_budget(over),
        db::Error::TooMuch => return Error::Invalid(vec![too_much()]).into_response(),
        // As of a key that was revoked a moment earlier.
        db::Error::UserDeleted => return Error::NotAuthenticated.into_response(),
        _ => (),
    }
    // Before `listen migrate` was run nothing is broken: readiness says so, and it passes.
    let is_passing = error.is_passing() || error.trouble() == Some(db::Trouble::Schema);
    let mut response = match is_passing {
        true => unavailable(),
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

//! What can be answered instead of what was asked for. Bodies are FastAPI's (`{"detail": …}`).

use std::sync::Arc;

use axum::{
    Json,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use records::{Budget, OverBudget};
use serde_json::{Value, json};

use crate::{Scope, read::Problem};

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
    Conflict(&'static str),
    /// 409: a request of the same name has not been answered yet.
    #[error("still running")]
    StillRunning {
        /// Whole seconds until asking again makes sense.
        retry_after: u64,
    },
    /// 413: over 4 MiB.
    #[error("body too large")]
    TooLarge,
    /// 429: the key's bucket is empty. The front door adds the RateLimit fields, as to every answer to a key.
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
    KeyedRunsFull,
    /// 503 when it may pass, else 500.
    #[error(transparent)]
    Ledger(#[from] db::Error),
}

/// Left on an answer for the front door, which knows the request's id: it logs the cause, once.
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
            Self::NotAuthenticated => {
                let mut response = detail(StatusCode::UNAUTHORIZED, "Not authenticated");
                response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
                response
            }
            Self::Forbidden(scope) => {
                detail(StatusCode::FORBIDDEN, format!("Missing required scope: {scope}"))
            }
            Self::NotInvoker => detail(StatusCode::FORBIDDEN, "Not the task invoker"),
            Self::NoVerificationKeys { retry_after } => later(
                detail(StatusCode::SERVICE_UNAVAILABLE, "Verification keys are not available yet"),
                retry_after,
            ),
            Self::NotOwner => detail(StatusCode::FORBIDDEN, "Only its owner may do this with an app"),
            Self::AppsNotAllowed(why) => detail(StatusCode::FORBIDDEN, why),
            Self::MayNotWrite => detail(StatusCode::FORBIDDEN, "The app may not write to this user"),
            Self::MessagesNotEnabled => {
                detail(StatusCode::FORBIDDEN, "Chat messages are not enabled for this app")
            }
            Self::SetupNotCompleted => detail(StatusCode::BAD_REQUEST, "App setup is not completed"),
            Self::OtherUser => detail(StatusCode::FORBIDDEN, "uid is not the user of this key"),
            Self::NoUpgrade => {
                let mut response =
                    detail(StatusCode::UPGRADE_REQUIRED, "This address takes WebSocket connections only");
                response.headers_mut().insert(header::UPGRADE, HeaderValue::from_static("websocket"));
                response
            }
            Self::TooManySockets => later(
                detail(StatusCode::TOO_MANY_REQUESTS, "Too many live sessions of this user"),
                SOCKET_SECONDS,
            ),
            Self::NoSocketFree => {
                later(detail(StatusCode::SERVICE_UNAVAILABLE, "No live session is free"), SOCKET_SECONDS)
            }
            Self::TurnRunning { retry_after } => {
                later(detail(StatusCode::CONFLICT, "A turn is already running in this chat"), retry_after)
            }
            Self::NoTurnFree => {
                later(detail(StatusCode::SERVICE_UNAVAILABLE, "The assistant is busy"), PASSING_SECONDS)
            }
            Self::Invalid(problems) => detail(
                StatusCode::UNPROCESSABLE_ENTITY,
                problems.iter().map(Problem::shape).collect::<Value>(),
            ),
            Self::UnreadableBody => detail(StatusCode::BAD_REQUEST, "There was an error parsing the body"),
            Self::TooSlow => {
                let mut response = detail(StatusCode::REQUEST_TIMEOUT, "Request body took too long");
                response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
                response
            }
            Self::NotFound(kind) => detail(StatusCode::NOT_FOUND, format!("{kind} not found")),
            Self::UnknownPath => detail(StatusCode::NOT_FOUND, "Not Found"),
            Self::MethodNotAllowed => detail(StatusCode::METHOD_NOT_ALLOWED, "Method Not Allowed"),
            Self::Conflict(reason) => detail(StatusCode::CONFLICT, reason),
            Self::StillRunning { retry_after } => still_running(retry_after),
            Self::TooLarge => detail(StatusCode::PAYLOAD_TOO_LARGE, "Request body too large"),
            Self::TooManyRequests { retry_after } => {
                later(detail(StatusCode::TOO_MANY_REQUESTS, "Too many requests"), retry_after)
            }
            Self::FinalizationUnavailable => later(
                detail(
                    StatusCode::SERVICE_UNAVAILABLE,
                    "Conversation finalization is temporarily unavailable",
                ),
                UNCONFIGURED_SECONDS,
            ),
            Self::WebPushUnavailable => later(
                detail(StatusCode::SERVICE_UNAVAILABLE, "Web push is not configured"),
                UNCONFIGURED_SECONDS,
            ),
            Self::NoAnswer => unavailable(),
            Self::Overloaded => later(
                detail(StatusCode::SERVICE_UNAVAILABLE, "Too much data is in flight: try again later"),
                PASSING_SECONDS,
            ),
            Self::Unwritable => detail(StatusCode::INTERNAL_SERVER_ERROR, "Internal Server Error"),
            Self::KeyedRunsFull => later(
                detail(
                    StatusCode::SERVICE_UNAVAILABLE,
                    "Too many conversations wait for a run with their own keys",
                ),
                FULL_SECONDS,
            ),
            Self::Ledger(error) => broken(error),
        }
    }
}

/// An answer with FastAPI's `detail`.
pub(crate) fn detail(status: StatusCode, detail: impl Into<Value>) -> Response {
    (status, Json(json!({ "detail": detail.into() }))).into_response()
}

fn later(mut response: Response, seconds: u64) -> Response {
    response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
    response
}

fn still_running(retry_after: u64) -> Response {
    later(detail(StatusCode::CONFLICT, "A request with this Idempotency-Key is still running"), retry_after)
}

fn unavailable() -> Response {
    later(detail(StatusCode::SERVICE_UNAVAILABLE, "The service is temporarily unavailable"), PASSING_SECONDS)
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
    let detail = match over.budget {
        Budget::ConversationsPerDay => {
            format!("The daily limit of {limit} conversations is reached: it starts anew at midnight UTC")
        }
        Budget::WaitingJobs => {
            format!(
                "The limit of {limit} conversations being processed is reached: try again when some are done"
            )
        }
        Budget::Bytes => {
            format!(
                "the storage limit of {limit} bytes would be exceeded: delete conversations, or ask for a higher limit"
            )
        }
    };
    let mut response = match over.retry_after {
        Some(seconds) => later(self::detail(StatusCode::TOO_MANY_REQUESTS, detail), seconds),
        None => Error::Invalid(vec![Problem::rule(vec!["body".into()], &detail)]).into_response(),
    };
    response.extensions_mut().insert(over.budget);
    response
}

fn broken(error: db::Error) -> Response {
    match error {
        db::Error::Repeated { .. } => return still_running(PASSING_SECONDS),
        db::Error::OverBudget(over) => return over_budget(over),
        db::Error::TooMuch { .. } => return Error::Invalid(vec![too_much()]).into_response(),
        _ => (),
    }
    // Before `listen migrate` was run nothing is broken: readiness says so, and it passes.
    let is_passing = error.is_passing() || error.trouble() == Some(db::Trouble::Schema);
    let mut response = match is_passing {
        true => unavailable(),
        false => detail(StatusCode::INTERNAL_SERVER_ERROR, "Internal Server Error"),
    };
    response.extensions_mut().insert(Cause(Arc::new(error)));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_asks_for_too_much_is_told_to_ask_for_less() {
        let answer = Error::from(db::Error::TooMuch { doing: "listing conversations" }).into_response();
        assert_eq!(answer.status(), StatusCode::UNPROCESSABLE_ENTITY);
        assert!(answer.extensions().get::<Cause>().is_none(), "nothing broke");
        let passing = Error::from(db::Error::Contended { doing: "asking" }).into_response();
        assert_eq!(passing.status(), StatusCode::SERVICE_UNAVAILABLE);
    }
}

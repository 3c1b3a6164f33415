//! The internal run route: a task queue, or any other caller with the invoker's identity, delivers a dispatch of a job, and the answer
//! says what became of it. It is no part of the public interface and not in its document.

use std::time::Duration;

use axum::{
    Json,
    extract::FromRequestParts,
    http::{StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
};
use job::{Generation, JobId};
use ledger::Delivered;
use serde_json::{Value, json};

use crate::{
    Access, Answered, AppState, Code, Endpoint, Error, NotInvoker,
    keys::bearer,
    read::{Body, Fields, StrictInt, Text, object},
    shapes,
    state::Wait,
};

/// Where jobs are delivered.
const PATH: &str = "/v1/conversation-finalization-jobs/run";

/// Seconds until keys may be there.
const NO_KEYS_SECONDS: u64 = 10;
/// Seconds until a slot may be free, or the database back.
const BUSY_SECONDS: u64 = 5;

/// A caller whose token was verified. An extractor, so that not a byte of the body is read for anybody else.
pub(super) struct Invoker;

impl FromRequestParts<AppState> for Invoker {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Error> {
        match state.settings.invokers.check(bearer(&parts.headers)).await {
            Ok(()) => Ok(Self),
            Err(NotInvoker::NotAuthenticated) => Err(Error::Refused(Code::NotAuthenticated)),
            Err(NotInvoker::Forbidden) => Err(Error::Refused(Code::NotInvoker)),
            Err(NotInvoker::NoKeys) => Err(Error::Later(Code::NoVerificationKeys, NO_KEYS_SECONDS)),
        }
    }
}

/// Not in the document: the caller must prove that it is the invoker.
pub(super) fn endpoints() -> Vec<Endpoint> {
    vec![Endpoint::post(PATH, Access::Open, run).waits(Wait::Run)]
}

pub(super) async fn run(state: AppState, _: Invoker, body: Body) -> Answered {
    let (job, generation) = object(body, dispatch)?;
    Ok(answer(state.settings.deliveries.deliver(job, generation).await))
}

/// Exactly the job's id and the generation of its dispatch.
fn dispatch(fields: &mut Fields<'_>) -> Option<(JobId, Generation)> {
    let job = fields.required("job_id", Text::between(1, 128));
    let generation = fields.required("dispatch_generation", StrictInt::at_least(1));
    fields.nothing_else(&["job_id", "dispatch_generation"]);
    Some((JobId::from_text(job?), Generation(generation?)))
}

fn answer(delivered: Delivered) -> Response {
    match delivered {
        Delivered::Done => ok(json!({ "status": "done" })),
        Delivered::DeadLetter => ok(json!({ "status": "dead_letter" })),
        Delivered::Retry(ready_at) => ok(json!({ "status": "retry", "ready_at": shapes::moment(ready_at) })),
        Delivered::Acked => ok(json!({ "status": "acked", "job_status": "completed" })),
        Delivered::Dropped(reason) => ok(json!({ "status": "dropped", "reason": reason })),
        Delivered::Leased(wait) => again(StatusCode::CONFLICT, "leased", seconds(wait)),
        Delivered::NotYet(wait) => again(StatusCode::CONFLICT, "not_yet", seconds(wait)),
        Delivered::Busy => again(StatusCode::SERVICE_UNAVAILABLE, "busy", BUSY_SECONDS),
    }
}

fn ok(body: Value) -> Response {
    Json(body).into_response()
}

fn again(status: StatusCode, word: &'static str, seconds: u64) -> Response {
    (status, [(header::RETRY_AFTER, seconds.to_string())], Json(json!({ "status": word }))).into_response()
}

/// Whole seconds, never too few: who comes too early is sent away again.
fn seconds(wait: Duration) -> u64 {
    wait.as_secs() + 1
}

#[cfg(test)]
mod tests;

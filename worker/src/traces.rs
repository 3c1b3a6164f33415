//! What a worker adds to a trace: the wait for a claim, the run, its completion, and every try to deliver to an endpoint or
//! a push.

use std::time::Duration;

use job::Outcome;
use ledger::StoredJob;
use outbox::{ClaimedDelivery, ClaimedPush, DeliveryOutcome};
use trace::{TARGET, TraceContext};
use tracing::{Span, field::Empty};

use crate::observer::Ended;

/// A run: a child of the wait for its claim, which is a child of its admission. A parent and not a link, so that what
/// became of a request is one trace, also when a replay or a takeover runs it again.
pub(crate) fn run(claimed: &StoredJob) -> Span {
    let job = &claimed.job;
    let span = tracing::info_span!(
        target: TARGET,
        "run",
        otel.kind = "consumer",
        otel.status_code = Empty,
        job_id = job.id.as_str(),
        generation = job.generation.0,
        epoch = job.epoch.0,
        attempts = job.attempts,
        end = Empty,
        failure_code = Empty,
    );
    if !span.is_disabled() {
        let wait = trace::queue_wait(claimed.trace, job.queue.as_str(), waited(claimed));
        wait.inspect(|wait| wait.lead(&span));
    }
    span
}

/// From the moment at which the job was due until its claim.
fn waited(claimed: &StoredJob) -> Duration {
    let lease = claimed.job.state.lease();
    lease.and_then(|lease| (lease.claimed_at - lease.ready_at).to_std().ok()).unwrap_or_default()
}

pub(crate) fn ended(run: &Span, ended: Ended) {
    run.record("end", ended.as_str());
    if let Some(code) = ended.failure() {
        run.record("failure_code", code.as_str());
        run.record("otel.status_code", "ERROR");
    }
}

/// The commit of a run's results, shared with others or not.
pub(crate) fn completion(outcome: Outcome) -> Span {
    tracing::info_span!(target: TARGET, "complete", outcome = outcome.as_str())
}

/// The claim; its deliveries continue from the span in which this is called.
pub(crate) fn going_on(claimed: &StoredJob) -> StoredJob {
    StoredJob { trace: TraceContext::current().or(claimed.trace), ..claimed.clone() }
}

/// A try to deliver to an endpoint: a child of the completion that wrote the delivery. Receivers are sent no `traceparent`:
/// our ids are of no use to others.
pub(crate) fn delivery(delivery: &ClaimedDelivery) -> Span {
    let span = tracing::info_span!(
        target: TARGET,
        "deliver",
        otel.kind = "client",
        otel.status_code = Empty,
        endpoint_id = delivery.endpoint_id,
        delivery_id = delivery.delivery_id,
        event = delivery.event.map_or("webhook.test", records::EventKind::as_str),
        try_number = delivery.try_number,
        outcome = Empty,
        http.response.status_code = Empty,
    );
    delivery.trace.inspect(|trace| trace.lead(&span));
    span
}

/// A push: a trace of its own. A reminder is due days after the request that set it, and may have
/// been moved by others since.
pub(crate) fn push(push: &ClaimedPush) -> Span {
    tracing::info_span!(
        target: TARGET,
        "push",
        otel.kind = "client",
        otel.status_code = Empty,
        subscription_id = push.subscription_id,
        delivery_id = push.delivery_id,
        kind = push.kind.as_str(),
        try_number = push.try_number,
        outcome = Empty,
        http.response.status_code = Empty,
    )
}

pub(crate) fn delivered(delivery: &Span, outcome: DeliveryOutcome, counted: &'static str) {
    delivery.record("outcome", counted);
    let status = match outcome {
        DeliveryOutcome::Delivered { status } => Some(status),
        DeliveryOutcome::Retry { status, .. } | DeliveryOutcome::Final { status, .. } => status,
        DeliveryOutcome::Gone => Some(410),
        DeliveryOutcome::Cancelled => None,
    };
    if let Some(status) = status {
        delivery.record("http.response.status_code", status);
    }
    if !matches!(outcome, DeliveryOutcome::Delivered { .. } | DeliveryOutcome::Cancelled) {
        delivery.record("otel.status_code", "ERROR");
    }
}

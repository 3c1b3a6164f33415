//! A task as the queue's API takes it: its name, its request, and when it is delivered at the latest and at the earliest.

use base64::{Engine, engine::general_purpose::STANDARD};
use chrono::SecondsFormat;
use job::{Dispatch, Generation, JobId};
use ledger::HandOver;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::TaskQueueSettings;

/// A task that is due within this is delivered at once: the queue is no more punctual.
const AT_ONCE: chrono::TimeDelta = chrono::TimeDelta::seconds(1);

/// The id of the task of one dispatch. It begins with a hash, because queues slow down where ids begin alike; and no id is ever used
/// again, because a queue refuses the ids of tasks that it had for 24 hours.
pub fn task_id(job: &JobId, generation: Generation, dispatch: Dispatch) -> String {
    let hash = Sha256::digest(job.as_str().as_bytes());
    let hash: String = hash.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    format!("{hash}-g{generation}-d{dispatch}")
}

/// The request that creates the task of `hand_over`.
pub(crate) fn create_request(settings: &TaskQueueSettings, hand_over: &HandOver) -> Value {
    let id = task_id(&hand_over.job_id, hand_over.generation, hand_over.dispatch);
    let body = json!({
        "job_id": hand_over.job_id.as_str(),
        "dispatch_generation": hand_over.generation.0,
    });
    let mut headers = json!({ "Content-Type": "application/json" });
    if let Some(trace) = &hand_over.trace {
        headers["traceparent"] = trace.to_string().into();
    }
    let mut task = json!({
        "name": format!("{}/tasks/{id}", settings.queue),
        "httpRequest": {
            "httpMethod": "POST",
            "url": settings.handler_url,
            "headers": headers,
            "body": STANDARD.encode(body.to_string()),
            "oidcToken": { "serviceAccountEmail": settings.invoker, "audience": settings.audience },
        },
        "dispatchDeadline": format!("{}s", settings.deadline.as_secs()),
    });
    if hand_over.delay > AT_ONCE {
        task["scheduleTime"] = hand_over.ready_at.to_rfc3339_opts(SecondsFormat::Millis, true).into();
    }
    json!({ "task": task })
}

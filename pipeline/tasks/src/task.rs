//! A task as the queue's API takes it: its name, its request, and when it is delivered at the latest and at the earliest.

use base64::{Engine, engine::general_purpose::STANDARD};
use chrono::SecondsFormat;
use job::{Dispatch, Generation, JobId};
use outbox::HandOver;
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

    use std::time::Duration;

    use super::*;

    /// What `tests/task-queue/google/run` holds against Google's own description of the API.
    const CREATE: &str = include_str!("../tests/create.json");

    fn settings() -> TaskQueueSettings {
        TaskQueueSettings {
            api_url: "https://cloudtasks.googleapis.com".parse().unwrap(),
            queue: "projects/p/locations/l/queues/q".parse().unwrap(),
            handler_url: "https://listen.example/run".to_owned(),
            audience: "https://listen.example/run".to_owned(),
            invoker: "invoker@p.iam.gserviceaccount.com".to_owned(),
            deadline: Duration::from_secs(1_500),
        }
    }

    fn hand_over() -> HandOver {
        HandOver {
            user_id: records::UserId::new("ann"),
            job_id: JobId::from_text("fj_1"),
            generation: Generation(2),
            dispatch: Dispatch(3),
            delay: chrono::TimeDelta::seconds(30),
            ready_at: "2027-01-15T08:00:30Z".parse().unwrap(),
            tries: 1,
            trace: Some("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".parse().unwrap()),
        }
    }

    #[test]
    fn task_body_is_a_job_and_generation() {
        let expected: Value = serde_json::from_str(CREATE).unwrap();
        assert_eq!(create_request(&settings(), &hand_over()), expected);
        let body = expected["task"]["httpRequest"]["body"].as_str().unwrap();
        let body = STANDARD.decode(body).unwrap();
        assert_eq!(body, br#"{"job_id":"fj_1","dispatch_generation":2}"#);
    }

    #[test]
    fn task_due_within_a_second_has_no_schedule_and_untraced_jobs_no_trace() {
        let now = HandOver { delay: chrono::TimeDelta::milliseconds(900), trace: None, ..hand_over() };
        let task = &create_request(&settings(), &now)["task"];
        assert!(task.get("scheduleTime").is_none());
        assert_eq!(task["httpRequest"]["headers"], json!({ "Content-Type": "application/json" }));
    }

    #[test]
    fn task_names_are_unique_per_dispatch() {
        let id = |job: &str, generation, dispatch| {
            task_id(&JobId::from_text(job), Generation(generation), Dispatch(dispatch))
        };
        let all = [id("a", 1, 1), id("a", 1, 2), id("a", 2, 2), id("b", 1, 1)];
        let distinct: std::collections::BTreeSet<_> = all.iter().collect();
        assert_eq!(distinct.len(), all.len());
        assert!(all.iter().all(|id| id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')));
    }
}

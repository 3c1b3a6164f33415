//! What `listen doctor` asks the task queue.

use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::TaskQueue;

/// What this process must be allowed to do with the queue, and the role that allows it.
const PERMISSIONS: [(&str, &str); 2] = [
    ("cloudtasks.tasks.create", "roles/cloudtasks.enqueuer"),
    ("cloudtasks.tasks.get", "roles/cloudtasks.viewer"),
];
/// How the queue of finalizations is made (docs/cloud-tasks.md).
const ATTEMPTS: u64 = 5;
const CONCURRENCY: u64 = 4;

/// What was seen of the queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// As it should be, in words.
    Fine(String),
    /// Worth knowing; works all the same.
    Note(String),
    /// Tasks cannot be handed over, or lost ones not be found.
    Broken(String),
}

/// Looks at the queue: whether it is there, runs, is made as recommended, and may be used by this process.
pub async fn examine(queue: &TaskQueue) -> Vec<Finding> {
    let name = queue.settings().queue.to_string();
    let found = match queue.get(&name).await {
        Err(outcome) => return vec![Finding::Broken(out_of_reach(queue, outcome))],
        Ok((StatusCode::OK, found)) => found,
        Ok((status, _)) => return vec![Finding::Broken(refused(&name, status))],
    };
    let mut findings = shape(&name, &found);
    findings.extend(permissions(queue, &name).await);
    if findings.is_empty() {
        findings.push(Finding::Fine(format!(
            "{name} runs, with {CONCURRENCY} dispatches at once and {ATTEMPTS} attempts"
        )));
    }
    findings
}

fn out_of_reach(queue: &TaskQueue, outcome: &str) -> String {
    match outcome {
        "credentials" => "no token could be had: does the metadata server answer, or does GOOGLE_APPLICATION_CREDENTIALS name a \
                          file with credentials? (LISTEN_FINALIZATION_TASKS_CREDENTIALS)"
            .to_owned(),
        _ => format!(
            "{} does not answer (LISTEN_FINALIZATION_TASKS_API_URL): is it reachable from here?",
            queue.settings().api_url
        ),
    }
}

fn refused(name: &str, status: StatusCode) -> String {
    match status {
        StatusCode::NOT_FOUND => {
            format!("{name} does not exist: create it, or correct LISTEN_FINALIZATION_TASKS_QUEUE")
        }
        StatusCode::UNAUTHORIZED => {
            "the credentials of this process are not accepted (LISTEN_FINALIZATION_TASKS_CREDENTIALS)"
                .to_owned()
        }
        StatusCode::FORBIDDEN => {
            format!("this process may not look at {name}: grant it roles/cloudtasks.viewer on the queue")
        }
        other => format!("looking at {name} was answered {other}"),
    }
}

/// What of the queue is not as recommended.
fn shape(name: &str, found: &Value) -> Vec<Finding> {
    let number = |pointer: &str| found.pointer(pointer).and_then(Value::as_u64);
    let state = found["state"].as_str().unwrap_or("RUNNING");
    let mut findings = Vec::new();
    if state != "RUNNING" {
        findings
            .push(Finding::Broken(format!("{name} is {state}: nothing is delivered before it is resumed")));
    }
    if let Some(attempts) = number("/retryConfig/maxAttempts").filter(|attempts| *attempts != ATTEMPTS) {
        findings.push(Finding::Note(format!(
            "{name} delivers {attempts} times, recommended are {ATTEMPTS} (--max-attempts)"
        )));
    }
    let at_once = number("/rateLimits/maxConcurrentDispatches");
    if let Some(at_once) = at_once.filter(|at_once| *at_once != CONCURRENCY) {
        findings.push(Finding::Note(format!(
            "{name} delivers {at_once} tasks at once, recommended are {CONCURRENCY} (--max-concurrent-dispatches)"
        )));
    }
    findings
}

/// Which permissions on the queue are missing. A service without this question has none.
async fn permissions(queue: &TaskQueue, name: &str) -> Vec<Finding> {
    let asked = json!({ "permissions": PERMISSIONS.map(|(permission, _)| permission) });
    let Ok((StatusCode::OK, answer)) = queue.post(&format!("{name}:testIamPermissions"), &asked).await else {
        return Vec::new();
    };
    let granted: Vec<&str> =
        answer["permissions"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let missing = PERMISSIONS.iter().filter(|(permission, _)| !granted.contains(permission));
    missing
        .map(|(permission, role)| {
            Finding::Broken(format!(
                "this process lacks {permission} on {name}: grant it {role} on the queue"
            ))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examine_reports_deviations_from_the_recommended_queue() {
        let found = json!({ "state": "PAUSED", "retryConfig": { "maxAttempts": 100 }, "rateLimits": { "maxConcurrentDispatches": 1000 } });
        let findings = shape("q", &found);
        assert!(matches!(&findings[0], Finding::Broken(words) if words.contains("PAUSED")), "{findings:?}");
        assert!(matches!(&findings[1], Finding::Note(words) if words.contains("100")), "{findings:?}");
        assert!(matches!(&findings[2], Finding::Note(words) if words.contains("1000")), "{findings:?}");
        let right = json!({ "state": "RUNNING", "retryConfig": { "maxAttempts": 5 }, "rateLimits": { "maxConcurrentDispatches": 4 } });
        assert_eq!(shape("q", &right), []);
    }
}

//! The REST interface of the service: `projects.locations.queues` (get, testIamPermissions) and `….tasks` (create, get).

use std::{sync::Arc, time::Duration};

use axum::{
    Json,
    extract::{Path, State},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use base64::{Engine, engine::general_purpose::STANDARD};
use chrono::{DateTime, Utc};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::{
    fault::Kind,
    shared::{Shared, wall_clock},
    store::Task,
};

/// The largest task that is taken.
const LARGEST: usize = 100 * 1_024;

/// `GET …/queues/{queue}`.
pub(crate) async fn queue(
    State(shared): State<Arc<Shared>>,
    Path((p, l, q)): Path<(String, String, String)>,
) -> Response {
    let options = &shared.options;
    Json(json!({
        "name": format!("projects/{p}/locations/{l}/queues/{q}"),
        "rateLimits": { "maxConcurrentDispatches": options.concurrency, "maxDispatchesPerSecond": 500.0 },
        "retryConfig": { "maxAttempts": options.max_attempts },
        "state": if shared.store().paused { "PAUSED" } else { "RUNNING" },
    }))
    .into_response()
}

/// `POST …/queues/{queue}:testIamPermissions`.
pub(crate) async fn on_queue(
    Path((_, _, q)): Path<(String, String, String)>,
    Json(asked): Json<Value>,
) -> Response {
    match q.ends_with(":testIamPermissions") {
        true => Json(json!({ "permissions": asked["permissions"] })).into_response(),
        false => error(StatusCode::NOT_FOUND, "NOT_FOUND", "there is no such method"),
    }
}

/// `POST …/tasks`.
pub(crate) async fn create(
    State(shared): State<Arc<Shared>>,
    Path((p, l, q)): Path<(String, String, String)>,
    headers: HeaderMap,
    Json(asked): Json<Value>,
) -> Response {
    let fault = shared.store().faults.take(|kind| match kind {
        Kind::CreateStatus { .. } | Kind::CreateHang | Kind::CreateHangAfterCommit | Kind::Lose => {
            Some(kind.clone())
        }
        _ => None,
    });
    match &fault {
        Some(Kind::CreateStatus { status, retry_after }) => {
            let status = StatusCode::from_u16(*status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            let mut answer = error(status, "UNAVAILABLE", "told to fail");
            if let Some(seconds) = retry_after {
                answer.headers_mut().insert(header::RETRY_AFTER, (*seconds).into());
            }
            return answer;
        }
        Some(Kind::CreateHang) => std::future::pending().await,
        _ => {}
    }
    if let Some(token) = &shared.options.access_token {
        let sent = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        if sent != Some(&format!("Bearer {token}")) {
            return error(StatusCode::UNAUTHORIZED, "UNAUTHENTICATED", "the access token is not accepted");
        }
    }
    let parent = format!("projects/{p}/locations/{l}/queues/{q}");
    let task = match checked(&shared, &parent, &asked["task"]) {
        Ok(task) => task,
        Err(words) => return error(StatusCode::BAD_REQUEST, "INVALID_ARGUMENT", &words),
    };
    let created = task.json.clone();
    let name = created["name"].as_str().unwrap_or_default().to_owned();
    {
        let mut store = shared.store();
        if !store.names.insert(name.clone()) {
            return error(StatusCode::CONFLICT, "ALREADY_EXISTS", "a task of this name exists, or existed");
        }
        store.creates += 1;
        if fault != Some(Kind::Lose) {
            store.tasks.insert(name, task);
        }
    }
    shared.changed.notify_one();
    if fault == Some(Kind::CreateHangAfterCommit) {
        std::future::pending::<()>().await;
    }
    Json(created).into_response()
}

/// `GET …/tasks/{task}`.
pub(crate) async fn task(
    State(shared): State<Arc<Shared>>,
    Path((p, l, q, id)): Path<(String, String, String, String)>,
) -> Response {
    let mut store = shared.store();
    let failing = store.faults.take(|kind| match kind {
        Kind::GetStatus { status } => StatusCode::from_u16(*status).ok(),
        _ => None,
    });
    if let Some(status) = failing {
        return error(status, "UNAVAILABLE", "told to fail");
    }
    match store.tasks.get(&format!("projects/{p}/locations/{l}/queues/{q}/tasks/{id}")) {
        Some(task) => {
            let mut json = task.json.clone();
            json["dispatchCount"] = task.attempts.into();
            json["responseCount"] = task.responses.into();
            Json(json).into_response()
        }
        None => error(StatusCode::NOT_FOUND, "NOT_FOUND", "there is no such task"),
    }
}

/// The task that is asked for, if the service would take it.
fn checked(shared: &Shared, parent: &str, asked: &Value) -> Result<Task, String> {
    let fields = asked.as_object().ok_or("a task is needed")?;
    if asked.to_string().len() > LARGEST {
        return Err("the task is larger than 100 KB".to_owned());
    }
    let known = ["name", "httpRequest", "scheduleTime", "dispatchDeadline"];
    if let Some(unknown) = fields.keys().find(|field| !known.contains(&field.as_str())) {
        return Err(format!("unknown field {unknown}"));
    }
    let number = shared.store().creates;
    let name = match asked["name"].as_str() {
        Some(name) => name.to_owned(),
        None => format!("{parent}/tasks/{number}"),
    };
    let id = name.strip_prefix(&format!("{parent}/tasks/")).ok_or("the name is not of this queue")?;
    let is_id = |id: &str| {
        (1..=500).contains(&id.len())
            && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
    };
    if !is_id(id) {
        return Err("a task id has letters, digits, hyphens and underscores, 500 at most".to_owned());
    }
    let request = &asked["httpRequest"];
    let url = request["url"].as_str().unwrap_or_default();
    if !url.starts_with("http://") && !url.starts_with("https://") {
        return Err("httpRequest.url must be an http or https URL".to_owned());
    }
    STANDARD
        .decode(request["body"].as_str().unwrap_or_default())
        .map_err(|_| "httpRequest.body is not base64")?;
    if request["oidcToken"].is_object() && request["oidcToken"]["serviceAccountEmail"].as_str().is_none() {
        return Err("oidcToken.serviceAccountEmail is needed".to_owned());
    }
    let deadline = asked["dispatchDeadline"].as_str().unwrap_or("600s");
    let seconds = deadline.strip_suffix('s').and_then(|seconds| seconds.parse::<f64>().ok());
    if !seconds.is_some_and(|seconds| (15.0..=1_800.0).contains(&seconds)) {
        return Err("dispatchDeadline must be 15s to 1800s".to_owned());
    }
    let now = wall_clock();
    let scheduled = match asked["scheduleTime"].as_str() {
        None => now,
        Some(text) => text.parse::<DateTime<Utc>>().map_err(|_| "scheduleTime is no time")?,
    };
    let mut json = asked.clone();
    json["name"] = name.into();
    json["createTime"] = now.to_rfc3339().into();
    json["scheduleTime"] = scheduled.to_rfc3339().into();
    json["dispatchDeadline"] = deadline.into();
    let late = shared.store().faults.take(|kind| match kind {
        Kind::Late { millis } => Some(Duration::from_millis(*millis)),
        _ => None,
    });
    let doubled = shared.store().faults.take(|kind| (*kind == Kind::Double).then_some(())).is_some();
    let wait = (scheduled - now).to_std().unwrap_or_default() + late.unwrap_or_default();
    let due = Instant::now() + wait;
    Ok(Task { json, due, number, attempts: 0, responses: 0, is_running: false, last_status: None, doubled })
}

/// An error as the service has them.
pub(crate) fn error(status: StatusCode, name: &str, words: &str) -> Response {
    let body = json!({ "error": { "code": status.as_u16(), "message": words, "status": name } });
    (status, Json(body)).into_response()
}

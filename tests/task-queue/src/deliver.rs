//! Delivering: the next task that is due, as often as the queue allows, with the headers and the token of the service.

use std::{sync::Arc, time::Duration};

use base64::{Engine, engine::general_purpose::STANDARD};
use reqwest::{
    Method,
    header::{HeaderMap, HeaderName, HeaderValue, RETRY_AFTER},
};
use serde_json::Value;
use tokio::{
    sync::Semaphore,
    time::{Instant, sleep},
};

use crate::{
    fault::Kind,
    shared::{Shared, wall_clock},
    store::{Delivery, Task},
    token::{Claims, Signer},
};

/// How long a token is good.
const TOKEN_SECONDS: i64 = 3_600;

/// Delivers for ever.
pub(crate) async fn deliver_all(shared: Arc<Shared>) {
    let slots = Arc::new(Semaphore::new(shared.options.concurrency));
    loop {
        let Ok(slot) = Arc::clone(&slots).acquire_owned().await else { return };
        let name = next(&shared).await;
        sleep(shared.options.between).await;
        let shared = Arc::clone(&shared);
        tokio::spawn(async move {
            deliver(&shared, &name).await;
            drop(slot);
            shared.changed.notify_one();
        });
    }
}

/// Waits for the next task that is due, and marks it as running.
async fn next(shared: &Shared) -> String {
    loop {
        let changed = shared.changed.notified();
        let wait = {
            let mut store = shared.store();
            match store.next(Instant::now()) {
                Ok(name) => {
                    if let Some(task) = store.tasks.get_mut(&name) {
                        task.is_running = true;
                        task.attempts += 1;
                    }
                    return name;
                }
                Err(wait) => wait,
            }
        };
        tokio::select! {
            () = changed => {}
            () = sleep(wait.unwrap_or(Duration::from_secs(1))) => {}
        }
    }
}

async fn deliver(shared: &Shared, name: &str) {
    let Some(task) = shared.store().tasks.get(name).cloned() else { return };
    if task.doubled && task.attempts == 1 {
        tokio::join!(attempt(shared, name, &task), attempt(shared, name, &task));
    } else {
        attempt(shared, name, &task).await;
    }
    let mut store = shared.store();
    let Some(kept) = store.tasks.get_mut(name) else { return };
    kept.is_running = false;
    let succeeded = kept.last_status.is_some_and(|status| (200..300).contains(&status));
    if succeeded || kept.attempts >= shared.options.max_attempts {
        store.tasks.remove(name);
    }
}

/// One delivery: its answer decides when the task is due again.
async fn attempt(shared: &Shared, name: &str, task: &Task) {
    // No answer is status 0.
    let (status, answer, asked) = send(shared, name, task).await.unwrap_or_default();
    let mut store = shared.store();
    store.deliveries.push(Delivery { name: name.to_owned(), status, answer, attempt: task.attempts });
    if let Some(kept) = store.tasks.get_mut(name) {
        kept.last_status = Some(status);
        kept.responses += u32::from(status != 0);
        let doubled = shared.options.min_backoff * (1 << task.attempts.saturating_sub(1).min(5));
        let wait = doubled.min(shared.options.max_backoff).max(asked.unwrap_or_default());
        kept.due = Instant::now() + wait;
    }
}

/// The answer's status, body and `Retry-After`.
async fn send(
    shared: &Shared,
    name: &str,
    task: &Task,
) -> Result<(u16, String, Option<Duration>), reqwest::Error> {
    let request = &task.json["httpRequest"];
    let method = request["httpMethod"].as_str().and_then(|method| Method::try_from(method).ok());
    let body = STANDARD.decode(request["body"].as_str().unwrap_or_default()).unwrap_or_default();
    let deadline =
        task.json["dispatchDeadline"].as_str().and_then(|text| text.strip_suffix('s')?.parse().ok());
    let sending = shared
        .http
        .request(method.unwrap_or(Method::POST), request["url"].as_str().unwrap_or_default())
        .headers(headers(shared, name, task))
        .timeout(Duration::from_secs_f64(deadline.unwrap_or(600.0)))
        .body(body)
        .send();
    let answer = sending.await?;
    let asked = answer.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
    Ok((answer.status().as_u16(), answer.text().await?, asked.map(Duration::from_secs)))
}

fn headers(shared: &Shared, name: &str, task: &Task) -> HeaderMap {
    let mut parts = name.rsplit('/');
    let (id, queue) = (parts.next().unwrap_or_default(), parts.nth(1).unwrap_or_default());
    let eta = task.json["scheduleTime"].as_str().unwrap_or_default();
    let mut all = vec![
        ("user-agent".to_owned(), "Google-Cloud-Tasks".to_owned()),
        ("x-cloudtasks-queuename".to_owned(), queue.to_owned()),
        ("x-cloudtasks-taskname".to_owned(), id.to_owned()),
        ("x-cloudtasks-taskretrycount".to_owned(), task.attempts.saturating_sub(1).to_string()),
        ("x-cloudtasks-taskexecutioncount".to_owned(), task.responses.to_string()),
        ("x-cloudtasks-tasketa".to_owned(), eta.to_owned()),
    ];
    if let Some(status) = task.last_status {
        all.push(("x-cloudtasks-taskpreviousresponse".to_owned(), status.to_string()));
    }
    let own = task.json["httpRequest"]["headers"].as_object().into_iter().flatten();
    all.extend(own.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))));
    if let Some(token) = token(shared, &task.json["httpRequest"]) {
        all.push(("authorization".to_owned(), format!("Bearer {token}")));
    }
    let header = |(name, value): (String, String)| {
        Some((HeaderName::try_from(name).ok()?, HeaderValue::try_from(value).ok()?))
    };
    all.into_iter().filter_map(header).collect()
}

/// The identity token that the task asks for, with whatever is to be wrong with it.
fn token(shared: &Shared, request: &Value) -> Option<String> {
    let asked = request["oidcToken"].as_object()?;
    let text = |field: &str| asked.get(field).and_then(Value::as_str).map(str::to_owned);
    let now = wall_clock().timestamp();
    let mut claims = Claims {
        issuer: shared.options.issuer.clone(),
        audience: text("audience").or_else(|| request["url"].as_str().map(str::to_owned)).unwrap_or_default(),
        email: text("serviceAccountEmail").unwrap_or_default(),
        email_verified: true,
        issued_at: now,
        expires_at: now + TOKEN_SECONDS,
    };
    let wrong = shared.store().faults.take(|kind| match kind {
        Kind::Token { wrong } => Some(wrong.clone()),
        _ => None,
    });
    let mut key = shared.store().key;
    match wrong.as_deref() {
        Some("none") => return None,
        Some("expired") => claims.expires_at = now - 60,
        Some("early") => claims.issued_at = now + 3_600,
        Some("audience") => "https://elsewhere.example".clone_into(&mut claims.audience),
        Some("issuer") => "https://issuer.example".clone_into(&mut claims.issuer),
        Some("identity") => "other@local.iam.gserviceaccount.com".clone_into(&mut claims.email),
        Some("unverified") => claims.email_verified = false,
        Some("unknown_key") => key += 1_000,
        _ => {}
    }
    let mut signed = Signer::new(key).ok()?.sign(&claims);
    if wrong.as_deref() == Some("signature") {
        signed.truncate(signed.len().saturating_sub(8));
        signed.push_str("AAAAAAAA");
    }
    Some(signed)
}

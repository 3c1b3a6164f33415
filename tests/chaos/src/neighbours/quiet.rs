//! The quiet user, and the latencies of its requests.

use std::time::Duration;

use reqwest::Method;
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::{attack::Latencies, client::Client};

/// Between two rounds.
const PAUSE: Duration = Duration::from_millis(30);
/// Between two looks at a conversation that is being processed.
const LOOK: Duration = Duration::from_millis(10);
/// How long its end is waited for.
const PATIENCE: Duration = Duration::from_secs(8);

/// What was waited for.
#[derive(Debug, Default)]
pub(super) struct Waits {
    create: Latencies,
    finalize: Latencies,
    get: Latencies,
}

impl Waits {
    /// Each kind by its name.
    pub(super) fn all(&self) -> [(&'static str, &Latencies); 3] {
        [("create", &self.create), ("finalize to completed", &self.finalize), ("GET", &self.get)]
    }
}

/// Creates a conversation and waits for it, finalizes another one until it is completed, and lists; over and over.
pub(super) async fn measure(api: &str, keys: &[String], length: Duration) -> Waits {
    let (begun, client, mut waits) = (Instant::now(), Client::new(), Waits::default());
    let mut number = 0;
    while begun.elapsed() < length {
        let key = &keys[number % keys.len()];
        number += 1;
        let text = json!({ "text": format!("I have to water plant {number} by Friday.") });
        let at = Instant::now();
        let (status, _) =
            client.ask(Method::POST, &format!("{api}/v1/dev/user/conversations"), key, Some(&text)).await;
        waits.create.note(at, status);
        if let Some(id) = stored(&client, api, key, number).await {
            let at = Instant::now();
            let status = finalized(&client, api, key, &id).await;
            waits.finalize.note(at, status);
        }
        let list = format!("{api}/v1/dev/user/conversations?limit=25");
        let at = Instant::now();
        let (status, _) = client.ask(Method::GET, &list, key, None).await;
        waits.get.note(at, status);
        sleep(PAUSE).await;
    }
    waits
}

/// Stores a conversation that waits for its finalize.
async fn stored(client: &Client, api: &str, key: &str, number: usize) -> Option<String> {
    let said = format!("I will order part {number} by Friday.");
    let body = json!({
        "transcript_segments": [{ "text": said, "start": 0.0, "end": 5.0, "is_user": true, "speaker": "SPEAKER_00" }],
        "defer_processing": true,
    });
    let path = format!("{api}/v1/dev/user/conversations/from-segments");
    let (_, answer) = client.ask(Method::POST, &path, key, Some(&body)).await;
    answer["id"].as_str().map(str::to_owned)
}

/// Finalizes it and waits until it is completed: 200, or what was answered instead; 0 when it took too long.
async fn finalized(client: &Client, api: &str, key: &str, id: &str) -> i32 {
    let begun = Instant::now();
    let (status, _) =
        client.ask(Method::POST, &format!("{api}/v1/conversations/{id}/finalize"), key, None).await;
    if status != 200 {
        return status;
    }
    while begun.elapsed() < PATIENCE {
        let poll = format!("{api}/v1/conversations/{id}/finalization");
        let (_, answer) = client.ask(Method::GET, &poll, key, None).await;
        if answer["status"] == "completed" {
            return 200;
        }
        sleep(LOOK).await;
    }
    0
}

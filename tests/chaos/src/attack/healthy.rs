//! A well-behaved client, and its latencies.

use std::fmt;
use std::time::Duration;

use reqwest::Method;
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::client::Client;

/// How long each of the requests of one kind took.
#[derive(Debug, Default)]
pub(crate) struct Latencies {
    pub(crate) all: Vec<Duration>,
    /// Those that were not answered 200.
    pub(crate) failed: usize,
}

impl Latencies {
    pub(crate) fn note(&mut self, begun: Instant, status: i32) {
        self.all.push(begun.elapsed());
        self.failed += usize::from(status != 200);
    }

    pub(crate) fn percentile(&self, percent: usize) -> Duration {
        let mut sorted = self.all.clone();
        sorted.sort_unstable();
        let last = sorted.len().saturating_sub(1);
        sorted.get((sorted.len() * percent / 100).min(last)).copied().unwrap_or_default()
    }
}

impl fmt::Display for Latencies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = |percent| self.percentile(percent).as_secs_f64() * 1e3;
        write!(f, "{:.1} / {:.1} ms of {}", ms(50), ms(99), self.all.len())?;
        if self.failed > 0 { write!(f, ", {} failed", self.failed) } else { Ok(()) }
    }
}

/// Lists, creates a memory and asks for `/livez`, over and over; every tenth round on new connections.
pub(crate) async fn measure(
    api: &str,
    admin: &str,
    keys: &[String],
    length: Duration,
) -> (Latencies, Latencies, Latencies) {
    let begun = Instant::now();
    let (mut get, mut create, mut livez) = Default::default();
    let kept = Client::new();
    let mut number: usize = 0;
    while begun.elapsed() < length {
        let key = &keys[number % keys.len()];
        number += 1;
        // A pool that keeps its connections never notices that there is no room for another one.
        let client = if number.is_multiple_of(10) { &Client::new() } else { &kept };
        let list = format!("{api}/v1/dev/user/conversations?limit=25&include_transcript=true");
        time(&mut get, client.ask(Method::GET, &list, key, None)).await;
        let body = json!({ "text": format!("I have to water plant {number} by Friday.") });
        let creates = format!("{api}/v1/dev/user/conversations");
        time(&mut create, client.ask(Method::POST, &creates, key, Some(&body))).await;
        time(&mut livez, client.ask(Method::GET, &format!("{admin}/livez"), key, None)).await;
        sleep(Duration::from_millis(5)).await;
    }
    (get, create, livez)
}

async fn time<T>(latencies: &mut Latencies, request: impl Future<Output = (i32, T)>) {
    let begun = Instant::now();
    let (status, _) = request.await;
    latencies.note(begun, status);
}

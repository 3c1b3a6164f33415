//! Clients that hang up at any moment of a request.

use std::time::Duration;

use rand::{RngExt, SeedableRng, rngs::StdRng};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, timeout};

use crate::world::World;

/// How many clients hang up concurrently.
const CLIENTS: u64 = 12;

/// When they hang up at the latest, in microseconds: about when the answer comes.
const LATEST: u64 = 8_000;

/// Their requests: a page, and changes of records that do not exist, which begin and end a transaction without changes.
const REQUESTS: [(&str, &str, &str); 5] = [
    ("GET", "/v1/dev/user/conversations?limit=5", ""),
    ("PATCH", "/v1/dev/user/memories/none", r#"{"content":"x"}"#),
    ("DELETE", "/v1/dev/user/conversations/none", ""),
    ("PATCH", "/v1/dev/user/goals/none", r#"{"title":"x"}"#),
    ("POST", "/v1/conversations/none/finalize", ""),
];

/// For a while, thousands of requests are given up before their answer, in its middle, or right behind it.
pub(super) async fn hang_up(world: &World, chance: &mut StdRng, hold: Duration) -> Option<u32> {
    let until = Instant::now() + hold;
    let clients = (0..CLIENTS).map(|_| hang_up_until(world, StdRng::seed_from_u64(chance.random()), until));
    let sent: u64 = futures::future::join_all(clients).await.into_iter().sum();
    world.journal.hung_up.note(sent);
    None
}

/// Returns how many requests were sent.
async fn hang_up_until(world: &World, mut chance: StdRng, until: Instant) -> u64 {
    let mut sent = 0;
    while Instant::now() < until {
        let addresses = world.fleet.addresses();
        let address = addresses.get(chance.random_range(0..addresses.len().max(1)));
        let address = address.and_then(|address| address.api.strip_prefix("http://").map(str::to_owned));
        let Some(address) = address else {
            sleep(Duration::from_millis(50)).await;
            continue;
        };
        let Ok(Ok(mut line)) = timeout(Duration::from_secs(1), TcpStream::connect(&address)).await else {
            sleep(Duration::from_millis(50)).await;
            continue;
        };
        let (method, path, body) = REQUESTS[chance.random_range(0..REQUESTS.len())];
        let key = &world.people[chance.random_range(0..world.people.len())].key;
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {key}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        if line.write_all(request.as_bytes()).await.is_ok() {
            sent += 1;
            wait(Duration::from_micros(chance.random_range(0..LATEST))).await;
        }
    }
    sent
}

/// Waits more precisely than the runtime's timer, which counts milliseconds.
async fn wait(length: Duration) {
    let begun = Instant::now();
    while begun.elapsed() < length {
        tokio::task::yield_now().await;
    }
}

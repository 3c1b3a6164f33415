//! The audio webhook: batching, signatures, retries, the breaker and memory limits.

use std::time::Duration;

use axum::http::StatusCode;
use outbox::{AudioWebhook, NewAudioWebhook};
use outside::{Guard, Sender};
use prometheus::{Registry, TextEncoder};
use secrecy::{ExposeSecret, SecretString};
use standardwebhooks::Webhook;
use tokio_util::sync::CancellationToken;
use worker::{AudioTap, AudioWebhooks, Metrics};

use crate::bench::{Bench, PATIENCE};
use crate::receiver::Receiver;

/// Samples a second: small, so that five seconds of them are soon there.
const RATE: u32 = 1_000;

struct World {
    bench: Bench,
    audio: AudioWebhooks,
    registry: Registry,
    secret: SecretString,
}

impl World {
    /// Kim's audio goes to `url`, a second at a time.
    async fn new(url: &str) -> Self {
        Self::with(url, "127.0.0.0/8", 1_000_000).await
    }

    async fn with(url: &str, allowed: &str, budget: usize) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let bench = Bench::new().await;
        let secret = outside::new_secret([7; 32]);
        let new = NewAudioWebhook {
            url: url.to_owned(),
            seconds: 1,
            secret: secret.clone(),
            replace_secret: false,
        };
        bench.ledger.outbox().set_audio_webhook(&bench.user, &new).await.unwrap().unwrap();
        let registry = Registry::new();
        let sender = Sender::new(Guard::new(vec![allowed.parse().unwrap()])).unwrap();
        let metrics = Metrics::new(&registry).unwrap();
        let audio = AudioWebhooks::new(bench.ledger.clone(), sender, metrics, 7, budget);
        Self { bench, audio, registry, secret }
    }

    fn open(&self) -> AudioTap {
        self.audio.open(&self.bench.user, RATE)
    }

    /// Hears so much, and waits until it is sent.
    async fn send(&self, samples: &[i16]) {
        let mut tap = self.open();
        tap.hear(samples);
        drop(tap);
        self.sent().await;
    }

    /// Waits until everything is sent.
    async fn sent(&self) {
        let soft = CancellationToken::new();
        soft.cancel();
        let run = self.audio.clone().run(soft, CancellationToken::new());
        tokio::time::timeout(PATIENCE, run).await.expect("audio is never sent");
    }

    fn count(&self, series: &str) -> u64 {
        let text = TextEncoder::new().encode_to_string(&self.registry.gather()).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix(series)).expect("the series is there");
        line.trim().parse().unwrap()
    }

    fn dropped(&self, reason: &str) -> u64 {
        self.count(&format!("listen_audio_webhook_dropped_total{{reason=\"{reason}\"}}"))
    }

    fn ended(&self, outcome: &str) -> u64 {
        self.count(&format!("listen_audio_webhook_requests_total{{outcome=\"{outcome}\"}}"))
    }

    async fn seen(&self) -> AudioWebhook {
        self.bench.ledger.outbox().audio_webhook(&self.bench.user).await.unwrap().unwrap()
    }
}

/// Sends a second of silence: from then on the tap knows how much a request holds.
async fn settled(tap: &mut AudioTap, receiver: &mut Receiver) {
    tap.hear(&[0; RATE as usize]);
    let sent = async {
        loop {
            tap.hear(&[]);
            tokio::select! {
                heard = receiver.next() => return heard,
                () = tokio::time::sleep(Duration::from_millis(5)) => {}
            }
        }
    };
    tokio::time::timeout(PATIENCE, sent).await.expect("nothing is sent");
}

#[tokio::test]
async fn audio_webhook_posts_signed_audio_and_the_rest_at_the_end() {
    let mut receiver = Receiver::answering(&[]).await;
    let world = World::new(&format!("{}?token=1", receiver.url)).await;
    let mut tap = world.open();
    settled(&mut tap, &mut receiver).await;
    // The reference verifier takes bodies that are UTF-8 alone: both bytes of each sample are ASCII.
    let samples: Vec<i16> = (0..1_500_i16).map(|n| n % 128 + (n / 128) * 256).collect();
    // In pieces, as frames come.
    samples.chunks(100).for_each(|piece| tap.hear(piece));
    drop(tap);
    world.sent().await;
    let (whole, rest) = (receiver.next().await, receiver.next().await);
    let sent: Vec<u8> = samples.iter().flat_map(|sample| sample.to_le_bytes()).collect();
    assert_eq!([&whole.body[..], &rest.body[..]].concat(), sent, "little-endian, nothing lost or doubled");
    assert_eq!(whole.body.len(), 2_000, "a second of it");
    for heard in [&whole, &rest] {
        assert_eq!(heard.uri.query(), Some("token=1&sample_rate=1000&uid=kim"));
        assert_eq!(heard.header("content-type"), "application/octet-stream");
        let verifier = Webhook::new(world.secret.expose_secret()).unwrap();
        verifier.verify(&heard.body, &heard.headers).unwrap();
    }
    assert_ne!(whole.header("webhook-id"), rest.header("webhook-id"));
    assert!(world.seen().await.last_success_at.is_some());
}

#[tokio::test]
async fn audio_webhook_silent_receiver_loses_old_audio_and_blocks_nothing() {
    let mut receiver = Receiver::gated(&[]).await;
    let world = World::new(&receiver.url).await;
    let mut tap = world.open();
    settled(&mut tap, &mut receiver).await;
    // Each fills one request: two wait for the first one's answer, and five more take their places.
    (1..=7).for_each(|n| tap.hear(&[n; RATE as usize]));
    drop(tap);
    assert_eq!(world.dropped("behind"), 5);
    receiver.wake();
    world.sent().await;
    let (one, other) = (receiver.next().await, receiver.next().await);
    assert_eq!([one.body[0], other.body[0]], [6, 7], "the newest are sent, in order");
    assert!(receiver.has_no_more_requests());
}

#[tokio::test]
async fn audio_webhook_outage_is_retried_once_with_the_same_id_and_a_refusal_is_not() {
    let down = StatusCode::SERVICE_UNAVAILABLE;
    let mut receiver = Receiver::answering(&[down, StatusCode::OK, StatusCode::NOT_FOUND]).await;
    let world = World::new(&receiver.url).await;
    world.send(&[1; 10]).await;
    let (first, second) = (receiver.next().await, receiver.next().await);
    assert_eq!(first.header("webhook-id"), second.header("webhook-id"));
    assert_eq!((world.ended("delivered"), world.ended("failed")), (1, 0));
    world.send(&[1; 10]).await;
    receiver.next().await;
    assert!(receiver.has_no_more_requests());
    assert_eq!(world.ended("failed"), 1);
    assert!(world.seen().await.failing_since.is_some());
}

#[tokio::test]
async fn audio_webhook_410_disables_the_receiver() {
    let mut receiver = Receiver::answering(&[StatusCode::GONE]).await;
    let world = World::new(&receiver.url).await;
    for _ in 0..2 {
        world.send(&[1; 10]).await;
    }
    receiver.next().await;
    assert!(receiver.has_no_more_requests());
    assert_eq!(world.seen().await.disabled_reason.as_deref(), Some("gone"));
}

#[tokio::test]
async fn audio_webhook_breaker_opens_after_five_failures() {
    let mut receiver = Receiver::answering(&[StatusCode::BAD_REQUEST; 9]).await;
    let world = World::new(&receiver.url).await;
    for _ in 0..7 {
        world.send(&[1; 10]).await;
    }
    for _ in 0..5 {
        receiver.next().await;
    }
    assert!(receiver.has_no_more_requests());
    assert_eq!((world.ended("failed"), world.dropped("circuit_open")), (5, 2));
}

#[tokio::test]
async fn audio_webhook_private_address_is_never_called() {
    let mut receiver = Receiver::answering(&[]).await;
    let world = World::with(&receiver.url, "10.0.0.0/8", 1_000_000).await;
    world.send(&[1; 10]).await;
    assert_eq!(world.ended("failed"), 1);
    assert!(receiver.has_no_more_requests());
}

#[tokio::test]
async fn audio_webhook_over_the_memory_limit_is_dropped_and_counted() {
    let mut receiver = Receiver::gated(&[]).await;
    let world = World::with(&receiver.url, "127.0.0.0/8", 2_500).await;
    let mut tap = world.open();
    settled(&mut tap, &mut receiver).await;
    // What is being sent takes 2,000 bytes.
    (0..2).for_each(|_| tap.hear(&[1; RATE as usize]));
    assert_eq!(world.dropped("memory"), 2);
    tap.hear(&[1; 900]);
    tap.hear(&[2; 100]);
    receiver.wake();
    drop(tap);
    assert_eq!(world.dropped("memory"), 3, "with what is less than a request");
    world.sent().await;
    assert_eq!(receiver.next().await.body.len(), 200, "and what fits is sent");
}

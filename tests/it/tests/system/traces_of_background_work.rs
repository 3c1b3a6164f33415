//! Traces of background work: the repair of a dead worker's job, reminders, and speech.

use futures::SinkExt;
use mock_speech::{Transcriber, silence, tone};
use reqwest::Method;
use serde_json::json;
use tokio_tungstenite::tungstenite::Message;

use crate::client::page;
use crate::collector::{Collector, Span};
use crate::process::Process;
use crate::receiver::Receiver;
use crate::socket::open;
use crate::world::{GARDEN, World};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

#[tokio::test]
async fn trace_includes_the_repair_of_a_dead_workers_job() {
    let world = World::new().await;
    let collector = Collector::start().await;
    let quick = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url.as_str()),
        ("LISTEN_FINALIZATION_LEASE_SECONDS", "3"),
        ("LISTEN_FINALIZATION_HEARTBEAT_SECONDS", "1"),
    ];
    let held = [&quick[..], &[("LISTEN_DEMO_PAUSE_AFTER", "describe=600")]].concat();
    let mut doomed = Process::serve(&world.url, &held).await;
    let client = world.client(&doomed);
    let id = client.ingest(GARDEN).await;
    client.with_trace(&format!("00-{TRACE}-00f067aa0ba902b7-01")).finalize(&id).await;
    doomed.stage_done("describe").await;
    let admitted =
        |spans: &[Span]| spans.iter().find(|span| span.name == "admit" && span.trace == TRACE).cloned();
    // It dies when its admission is out: a span that never left cannot be a parent that anybody finds.
    let before = collector.spans(|spans| admitted(spans).is_some()).await;
    let admission = admitted(&before).expect("it was waited for");
    doomed.kill().await;

    let second = Process::serve(&world.url, &quick).await;
    assert_eq!(world.client(&second).finished(&id).await["status"], "completed");

    let repaired = |span: &Span| span.name == "repair" && span.attributes["became"] == "queued";
    let spans = collector.spans(|spans| spans.iter().any(repaired)).await;
    let repair = spans.iter().find(|span| repaired(span)).expect("it was waited for");
    assert_eq!((repair.trace.as_str(), &repair.parent), (TRACE, &admission.id));
    assert_eq!((&*repair.attributes["status"], &*repair.attributes["crashes"]), ("leased", "0"));
}

#[tokio::test]
async fn trace_of_a_reminder_has_no_user_content() {
    let world = World::new().await;
    let (receiver, collector) = (Receiver::start().await, Collector::start().await);
    let settings = [("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url.as_str())];
    let process = Process::serve(&world.url, &settings).await;
    let client = world.client(&process);
    let there = json!({ "kind": "webhook", "url": receiver.url() });
    let (status, answer) = client.ask(Method::POST, "/v1/users/me/push-subscriptions", Some(&there)).await;
    assert!(status.is_success(), "{answer}");
    let item = json!({ "description": "Water the tomatoes", "due_at": "2099-12-01T09:00:00+01:00" });
    let (status, answer) = client.ask(Method::POST, "/v1/dev/user/action-items", Some(&item)).await;
    assert!(status.is_success(), "{answer}");

    let pushed = |span: &Span| span.name == "push";
    let spans = collector.spans(|spans| spans.iter().any(pushed)).await;
    let push = spans.iter().find(|span| pushed(span)).expect("it was waited for");
    assert_eq!(push.parent, "", "nobody waits for it");
    assert_eq!((&*push.attributes["kind"], &*push.attributes["outcome"]), ("webhook", "delivered"));
    assert_eq!(push.attributes["http.response.status_code"], "204");
    assert!(!collector.text().contains("tomatoes"), "what a person wrote is in no span");
    let (_, metrics) = page(&format!("{}/metrics", process.admin)).await;
    assert!(metrics.contains("listen_trace_spans_total{outcome=\"failed\"} 0"), "{metrics}");
}

#[tokio::test]
async fn trace_of_an_utterance_has_no_user_content() {
    let world = World::new().await;
    let (transcriber, collector) = (Transcriber::start().await, Collector::start().await);
    let base = transcriber.base_url();
    let settings =
        [("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url.as_str()), ("LISTEN_SPEECH_BASE_URL", &base)];
    let process = Process::serve(&world.url, &settings).await;
    let query = "codec=pcm16&sample_rate=16000";
    let mut socket = open(&process.api, "u1", world.key(), query).await.expect("the socket opens");
    let samples = [tone(300, 1.5), silence(1.5)].concat();
    for frame in samples.chunks(1_600) {
        let bytes: Vec<u8> = frame.iter().flat_map(|sample| sample.to_le_bytes()).collect();
        socket.send(Message::binary(bytes)).await.expect("the socket takes it");
    }

    let transcribed = |span: &Span| span.name == "transcribe";
    let spans = collector.spans(|spans| spans.iter().any(transcribed)).await;
    let span = spans.iter().find(|span| transcribed(span)).expect("it was waited for");
    assert_eq!((span.parent.as_str(), span.attributes["outcome"].as_str()), ("", "answered"));
    assert!(span.took > 0);
    assert!(!collector.text().contains("tone300"), "what was understood is in no span");
}

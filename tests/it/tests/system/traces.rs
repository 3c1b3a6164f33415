//! One trace from the request to the receiver, across the queue; and a collector that does not answer harms nothing.

use std::collections::BTreeMap;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;
use tokio::time::Instant;

use crate::binary;
use crate::client::page;
use crate::collector::{Collector, Span};
use crate::process::Process;
use crate::receiver::Receiver;
use crate::world::{GARDEN, World};

/// What a client that traces sends.
const CLIENT: (&str, &str) = ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7");

/// The stages of a run that is kept, with the embedded engine.
const STAGES: [&str; 6] =
    ["read_context", "describe", "extract_action_items", "extract_memories", "embed", "trigger_apps"];

#[tokio::test]
async fn trace_covers_request_queue_run_and_webhook() {
    let world = World::new().await;
    let (receiver, collector) = (Receiver::start().await, Collector::start().await);
    let traced = |roles| {
        [
            ("LISTEN_ROLES", roles),
            ("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url.as_str()),
            ("OTEL_EXPORTER_OTLP_HEADERS", "x-team=li%73ten"),
        ]
    };
    // Two processes: nothing but the database can have carried the context.
    let mut door = Process::serve(&world.url, &traced("api")).await;
    let mut worker = Process::serve(&world.url, &traced("worker,reconciler")).await;
    let client = world.client(&door);
    client.register_webhook(&receiver.url()).await;
    let id = client.ingest(GARDEN).await;
    let (trace, caller) = CLIENT;
    client.with_trace(&format!("00-{trace}-{caller}-01")).finalize(&id).await;
    assert_eq!(client.finished(&id).await["status"], "completed");
    receiver.posts(1).await;

    let of_trace =
        |spans: &[Span]| -> Vec<Span> { spans.iter().filter(|span| span.trace == trace).cloned().collect() };
    let is_whole = |spans: &[Span]| {
        let spans = of_trace(spans);
        let has = |name: &str| spans.iter().any(|span| span.name == name);
        has("run") && has("deliver") && has("admit") && spans.iter().any(|span| span.name.starts_with("POST"))
    };
    let spans = of_trace(&collector.spans(is_whole).await);
    let by_id: BTreeMap<&str, &Span> = spans.iter().map(|span| (span.id.as_str(), span)).collect();
    let way = |span: &Span| -> Vec<String> {
        let mut way = vec![span.name.clone()];
        let mut at = span;
        while at.parent != caller {
            at = by_id.get(at.parent.as_str()).unwrap_or_else(|| panic!("{at:?} has a parent: {spans:#?}"));
            way.push(at.name.clone());
        }
        way
    };
    let request = "POST /v1/conversations/{conversation_id}/finalize";
    let run = ["run", "queue wait", "admit", request];
    for stage in STAGES {
        let span = spans.iter().find(|span| span.name == stage).unwrap_or_else(|| panic!("no {stage}"));
        assert_eq!(way(span), [&[stage][..], &run[..]].concat());
        assert_eq!((span.attributes["stage"].as_str(), span.attributes["outcome"].as_str()), (stage, "done"));
    }
    let deliveries: Vec<&Span> = spans.iter().filter(|span| span.name == "deliver").collect();
    assert!(!deliveries.is_empty());
    for delivery in deliveries {
        assert_eq!(way(delivery), [&["deliver", "complete"][..], &run[..]].concat());
        assert_eq!(delivery.attributes["http.response.status_code"], "204");
        assert_eq!(delivery.attributes["outcome"], "delivered");
    }
    let the = |name: &str| spans.iter().find(|span| span.name == name).expect("it was found above");
    let job = binary::the_job(&world.url);
    let job_id = job["job_id"].as_str().expect("a job has an id");
    assert_eq!(the("run").attributes["job_id"], job_id);
    assert_eq!(the("run").attributes["end"], "completed");
    assert_eq!(the(request).attributes["http.response.status_code"], "200");
    assert!(the("queue wait").took > 0 && the("run").took > 0);
    assert!(collector.teams().iter().all(|team| team == "listen"), "headers are decoded and sent");

    let shown: Value =
        serde_json::from_str(&binary::printed(&world.url, &["jobs", "show", job_id, "--json"]))
            .expect("the page is JSON");
    assert_eq!(shown["trace_id"], trace);
    assert!(binary::printed(&world.url, &["jobs", "show", job_id]).contains(trace));
    let ended = worker.line("run ended", |_| true).await;
    assert_eq!((&ended["trace_id"], &ended["span_id"]), (&trace.into(), &the("run").id.clone().into()));
    assert_eq!(ended["span"]["job_id"], job_id, "the line keeps what it had: {ended}");
    // The last spans go out when the process does.
    door.signal(Signal::TERM);
    assert!(door.ended().await.success());
    collector.spans(|spans| spans.iter().any(|span| span.name.starts_with("GET"))).await;
    let (_, metrics) = page(&format!("{}/metrics", worker.admin)).await;
    assert!(metrics.contains("listen_trace_spans_total{outcome=\"dropped\"} 0"), "{metrics}");
}

#[tokio::test]
async fn trace_unsampled_by_the_client_is_not_exported_but_propagated() {
    let world = World::new().await;
    let collector = Collector::start().await;
    let process = Process::serve(&world.url, &[("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url)]).await;
    let client = world.client(&process);
    let id = client.ingest(GARDEN).await;
    let (trace, caller) = CLIENT;
    client.with_trace(&format!("00-{trace}-{caller}-00")).finalize(&id).await;
    client.finished(&id).await;
    // What follows is sampled, and comes behind what was not.
    collector.spans(|spans| spans.iter().any(|span| span.name.ends_with("/finalization"))).await;
    let spans = collector.spans(|_| true).await;
    assert!(spans.iter().all(|span| span.trace != trace), "{spans:#?}");
    let kept = world.dump("select trace_context from finalization_jobs").await;
    assert!(kept.starts_with(&format!("00-{trace}-")) && kept.ends_with("-00"), "{kept}");
}

#[tokio::test]
async fn trace_is_off_without_a_collector() {
    let world = World::new().await;
    let mut process = Process::serve(&world.url, &[("LISTEN_LOG", "trace")]).await;
    let client = world.client(&process);
    let id = client.ingest(GARDEN).await;
    let (trace, caller) = CLIENT;
    client.with_trace(&format!("00-{trace}-{caller}-01")).finalize(&id).await;
    assert_eq!(client.finished(&id).await["status"], "completed");
    process.line("run ended", |line| line["trace_id"].is_null()).await;
    assert!(!process.logs().contains(trace), "it is nobody's parent");
    assert_eq!(world.count("select count(trace_context) from finalization_jobs").await, 0);
    let job = binary::the_job(&world.url);
    assert!(job["trace_id"].is_null(), "{job}");
}

#[tokio::test]
async fn trace_collector_outage_delays_nothing() {
    let hanging = Collector::hanging().await;
    for url in ["http://127.0.0.1:9", &hanging.url] {
        let world = World::new().await;
        let mut process = Process::serve(&world.url, &[("OTEL_EXPORTER_OTLP_ENDPOINT", url)]).await;
        let client = world.client(&process);
        let begun = Instant::now();
        let id = client.admit(GARDEN).await;
        assert_eq!(client.finished(&id).await["status"], "completed");
        assert!(begun.elapsed() < Duration::from_secs(9), "nobody waits for a collector's time limit");
        if url == hanging.url {
            hanging.was_asked().await;
        } else {
            let words = "the collector takes no spans; they are lost, and nothing else is. \
                         Look at OTEL_EXPORTER_OTLP_ENDPOINT";
            process.line(words, |line| line["level"] == "WARN").await;
        }
        let asked = Instant::now();
        process.signal(Signal::TERM);
        assert!(process.ended().await.success());
        assert!(asked.elapsed() < Duration::from_secs(8), "the end waits two seconds for the last spans");
    }
}

#[tokio::test]
async fn trace_collector_invalid_address_is_refused_at_start() {
    let world = World::new().await;
    let refused = |endpoint: &str| {
        let words = ["serve", "--otel-exporter-otlp-endpoint", endpoint];
        let output = binary::command(&world.url, &words);
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (code, said) = refused("collector:4318");
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("OTEL_EXPORTER_OTLP_ENDPOINT") && said.contains("http://127.0.0.1:4318"), "{said}");
}

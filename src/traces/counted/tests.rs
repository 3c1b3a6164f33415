//! A collector that hangs costs spans, and no time.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot set itself up must fail")]

use std::sync::{
    Mutex,
    mpsc::{Receiver, channel},
};

use opentelemetry::trace::{Tracer, TracerProvider};
use opentelemetry_sdk::{
    error::OTelSdkError,
    trace::{BatchConfigBuilder, SdkTracerProvider},
};

use super::*;

const BATCH: usize = 100;

/// An exporter that answers a batch when the test lets it.
#[derive(Debug)]
struct Told(Mutex<Receiver<bool>>);

impl SpanExporter for Told {
    async fn export(&self, _: Vec<SpanData>) -> OTelSdkResult {
        match self.0.lock().unwrap().recv() {
            Ok(true) => Ok(()),
            _ => Err(OTelSdkError::InternalFailure("away".to_owned())),
        }
    }
}

#[test]
fn spans_over_the_queue_limit_are_dropped_and_each_is_counted_once() {
    let (tell, told) = channel();
    let (counts, waiting) = (SpanCounts::new().unwrap(), Arc::new(AtomicUsize::new(0)));
    let counted = Counted {
        exporter: Told(Mutex::new(told)),
        waiting: Arc::clone(&waiting),
        counts: counts.clone(),
        is_failing: AtomicBool::new(false),
    };
    let batches = BatchConfigBuilder::default().with_max_queue_size(QUEUE).with_max_export_batch_size(BATCH);
    let behind = BatchSpanProcessor::builder(counted).with_batch_config(batches.build()).build();
    let gate = Gate { behind, waiting, counts: counts.clone() };
    let provider = SdkTracerProvider::builder().with_span_processor(gate).build();
    let tracer = provider.tracer("test");

    let made = 3 * QUEUE;
    for _ in 0..made {
        drop(tracer.start("span"));
    }
    let dropped = usize::try_from(counts.dropped.get()).unwrap();
    // One batch may be on its way beside the queue.
    assert!((made - QUEUE - BATCH..=made - QUEUE).contains(&dropped), "{dropped}");
    assert_eq!((counts.sent.get(), counts.failed.get()), (0, 0), "the collector hangs");

    tell.send(true).unwrap();
    drop(tell);
    // Whatever the library says of the collector's last errors: they are counted.
    let _ = provider.shutdown();
    let all = counts.sent.get() + counts.failed.get() + counts.dropped.get();
    assert_eq!(usize::try_from(all).unwrap(), made);
    assert!((1..=BATCH as u64).contains(&counts.sent.get()), "{counts:?}");
}

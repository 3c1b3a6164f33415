//! What the speech engine counts.

use std::time::Duration;

use prometheus::{
    Counter, CounterVec, Histogram, HistogramOpts, IntCounter, IntCounterVec, IntGauge, Opts, Registry,
};
use speech::{Meter, Reason};

/// The speech engine's counters.
pub(crate) struct SpeechMeter {
    requests: IntCounterVec,
    latency: Histogram,
    billed: Counter,
    gaps: CounterVec,
    hallucinations: IntCounter,
    circuit: IntGauge,
}

impl SpeechMeter {
    /// Makes the counters, born at zero, and registers them.
    pub(crate) fn register(registry: &Registry) -> Result<Self, prometheus::Error> {
        let requests = IntCounterVec::new(
            Opts::new(
                "listen_speech_requests_total",
                "Requests and connections to the speech engine, by outcome.",
            ),
            &["outcome"],
        )?;
        for outcome in Reason::ALL.iter().map(|reason| reason.as_str()).chain(["answered", "circuit_open"]) {
            requests.with_label_values(&[outcome]).inc_by(0);
        }
        let latency = Histogram::with_opts(
            HistogramOpts::new(
                "listen_speech_latency_seconds",
                "From the end of what was said to its final words.",
            )
            .buckets(vec![0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0]),
        )?;
        let billed = Counter::new(
            "listen_speech_billed_seconds_total",
            "Seconds of audio that the speech engine was sent.",
        )?;
        let gaps = CounterVec::new(
            Opts::new("listen_speech_gap_seconds_total", "Seconds of speech that were given up, by reason."),
            &["reason"],
        )?;
        for reason in Reason::ALL {
            gaps.with_label_values(&[reason.as_str()]).inc_by(0.0);
        }
        let hallucinations = IntCounter::new(
            "listen_speech_hallucinations_total",
            "Words that the engine invented on silence and that were dropped.",
        )?;
        let circuit = IntGauge::new(
            "listen_speech_circuit_open",
            "1 while the speech engine is left alone for a while.",
        )?;
        registry.register(Box::new(requests.clone()))?;
        registry.register(Box::new(latency.clone()))?;
        registry.register(Box::new(billed.clone()))?;
        registry.register(Box::new(gaps.clone()))?;
        registry.register(Box::new(hallucinations.clone()))?;
        registry.register(Box::new(circuit.clone()))?;
        Ok(Self { requests, latency, billed, gaps, hallucinations, circuit })
    }
}

impl Meter for SpeechMeter {
    fn called(&self, outcome: &'static str) {
        self.requests.with_label_values(&[outcome]).inc();
    }

    fn circuit(&self, is_open: bool) {
        self.circuit.set(is_open.into());
    }

    fn recognized(&self, latency: Duration) {
        self.latency.observe(latency.as_secs_f64());
    }

    fn billed(&self, audio: Duration) {
        self.billed.inc_by(audio.as_secs_f64());
    }

    fn gap(&self, reason: Reason, audio: Duration) {
        self.gaps.with_label_values(&[reason.as_str()]).inc_by(audio.as_secs_f64());
    }

    fn hallucination(&self) {
        self.hallucinations.inc();
    }
}

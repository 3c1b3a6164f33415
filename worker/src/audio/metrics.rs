//! What becomes of audio that is posted. Labels are names of ours.

use prometheus::{Error, IntCounterVec, Opts, Registry};

/// How a request can end, its second try included.
const OUTCOMES: [&str; 3] = ["delivered", "gone", "failed"];
/// Why audio of one request is not sent.
const REASONS: [&str; 3] = ["behind", "circuit_open", "memory"];

/// The counters of audio webhooks; cheap to clone.
#[derive(Clone, Debug)]
pub struct AudioMetrics {
    pub(super) requests: IntCounterVec,
    pub(super) dropped: IntCounterVec,
}

impl AudioMetrics {
    /// Registers them, each at zero.
    ///
    /// # Errors
    /// When a name is registered already.
    pub fn register(registry: &Registry) -> Result<Self, Error> {
        let requests = IntCounterVec::new(
            Opts::new(
                "listen_audio_webhook_requests_total",
                "Requests with audio to users' servers, by outcome.",
            ),
            &["outcome"],
        )?;
        let dropped = IntCounterVec::new(
            Opts::new(
                "listen_audio_webhook_dropped_total",
                "Requests with audio that were not made: an older one waited for a slow receiver, the receiver is \
                 left alone for a while, or the process keeps as much audio as it may.",
            ),
            &["reason"],
        )?;
        for outcome in OUTCOMES {
            requests.with_label_values(&[outcome]).inc_by(0);
        }
        for reason in REASONS {
            dropped.with_label_values(&[reason]).inc_by(0);
        }
        registry.register(Box::new(requests.clone()))?;
        registry.register(Box::new(dropped.clone()))?;
        Ok(Self { requests, dropped })
    }

    pub(super) fn ended(&self, outcome: &'static str) {
        self.requests.with_label_values(&[outcome]).inc();
    }

    pub(super) fn dropped(&self, reason: &'static str) {
        self.dropped.with_label_values(&[reason]).inc();
    }
}

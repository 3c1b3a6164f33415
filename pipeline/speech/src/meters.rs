//! What one session counts: for itself (usage) and for the process (the meter).

use std::sync::Arc;
use std::time::Duration;

use crate::{Gap, Meter, Usage, seconds};
use parking_lot::Mutex;

/// Counts for one session.
#[derive(Clone)]
pub(crate) struct Counter {
    usage: Arc<Mutex<Usage>>,
    meter: Arc<dyn Meter>,
}

impl Counter {
    pub(crate) fn new(meter: Arc<dyn Meter>) -> Self {
        Self { usage: Arc::default(), meter }
    }

    pub(crate) fn usage(&self) -> Usage {
        *self.usage.lock()
    }

    /// `samples` were sent and will be paid for.
    pub(crate) fn billed(&self, samples: u64) {
        let length = seconds(samples);
        self.usage.lock().audio_seconds += length;
        self.meter.billed(Duration::from_secs_f64(length));
    }

    /// Words became final so long after the end of them.
    pub(crate) fn recognized(&self, latency: Duration) {
        self.usage.lock().utterances += 1;
        self.meter.recognized(latency);
    }

    pub(crate) fn gap(&self, gap: &Gap) {
        let length = (gap.end - gap.start).max(0.0);
        let mut usage = self.usage.lock();
        usage.gaps += 1;
        usage.gap_seconds += length;
        drop(usage);
        self.meter.gap(gap.reason, Duration::try_from_secs_f64(length).unwrap_or_default());
    }

    pub(crate) fn hallucination(&self) {
        self.meter.hallucination();
    }
}

/// Counts the calls of a line of ours.
pub(crate) struct Calls(pub(crate) Arc<dyn Meter>);

impl upstream::Meter for Calls {
    fn called(&self, _purpose: &'static str, outcome: &'static str) {
        self.0.called(outcome);
    }

    fn circuit(&self, is_open: bool) {
        self.0.circuit(is_open);
    }
}

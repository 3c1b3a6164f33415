//! What the speech of a session takes, noted for the conversation that it fills.

use live::Action;
use speech::Usage;
use store::LiveUsage;

use super::ear::Ear;

/// Seconds of audio after which the count is written while a conversation goes on.
const NOTED_EVERY: f64 = 60.0;

/// Counts for the conversation that a session fills.
pub(super) struct Taken {
    engine: &'static str,
    own_key: bool,
    /// What a minute of recognized audio costs the service.
    price: Option<f64>,
    /// What the session had taken when the conversation was opened.
    before: (f64, Usage),
    /// Seconds that had been received when the count was last written.
    noted_at: f64,
}

impl Taken {
    pub(super) fn new(engine: &'static str, own_key: bool, price: Option<f64>) -> Self {
        let price = price.filter(|_| !own_key);
        Self { engine, own_key, price, before: (0.0, Usage::default()), noted_at: 0.0 }
    }

    /// A conversation was opened: what comes is its.
    pub(super) fn opened(&mut self, ear: &Ear) {
        self.before = (ear.received(), ear.usage());
        self.noted_at = ear.received();
    }

    /// What is to be written before `operation`: when the socket is closed, and about every minute of audio.
    pub(super) fn due(&mut self, operation: &Action, ear: &Ear) -> Option<LiveUsage> {
        let is_due = matches!(operation, Action::Release) || ear.received() >= self.noted_at + NOTED_EVERY;
        if !is_due {
            return None;
        }
        self.noted_at = ear.received();
        self.so_far(ear)
    }

    /// What the conversation has taken so far, unless that is nothing.
    pub(super) fn so_far(&self, ear: &Ear) -> Option<LiveUsage> {
        let (received, usage) = (ear.received(), ear.usage());
        if received <= self.before.0 {
            return None;
        }
        let (received_before, before) = self.before;
        let recognized = usage.audio_seconds - before.audio_seconds;
        let is_billed = recognized > 0.0;
        Some(LiveUsage {
            engine: self.engine.to_owned(),
            own_key: self.own_key,
            received_seconds: received - received_before,
            recognized_seconds: recognized,
            utterances: i64::try_from(usage.utterances.saturating_sub(before.utterances)).unwrap_or(i64::MAX),
            gap_seconds: usage.gap_seconds - before.gap_seconds,
            cost: self.price.filter(|_| is_billed).map(|price| recognized / 60.0 * price),
        })
    }
}

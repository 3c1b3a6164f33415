//! How fast audio may arrive (four times real time over 30 s): a client that is faster is read more slowly.

use std::time::Duration;

/// Audio may arrive this many times as fast as it plays.
const TIMES: f64 = 4.0;
/// The credit that a client can save up: 30 s of real time at that speed.
const CREDIT: f64 = 30.0 * TIMES;

/// A token bucket of seconds of audio.
#[derive(Clone, Debug)]
pub struct Pace {
    credit: f64,
    at: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self { credit: CREDIT, at: Duration::ZERO }
    }
}

impl Pace {
    /// Takes `seconds` of audio that arrived at `now`; the answer is how long not to read on.
    pub fn take(&mut self, seconds: f64, now: Duration) -> Duration {
        let passed = now.saturating_sub(self.at).as_secs_f64();
        self.at = self.at.max(now);
        self.credit = (self.credit + passed * TIMES).min(CREDIT) - seconds;
        Duration::from_secs_f64((-self.credit / TIMES).clamp(0.0, 600.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn live_pace_slows_only_faster_than_real_time_audio() {
        let mut pace = Pace::default();
        assert!((0..1_000).all(|second| pace.take(1.0, Duration::from_secs(second)).is_zero()));
        let (mut pace, mut now, mut sent) = (Pace::default(), Duration::ZERO, 0.0);
        while now < Duration::from_secs(600) {
            now += Duration::from_millis(10) + pace.take(1.0, now);
            sent += 1.0;
        }
        assert!(sent <= 600.0 * TIMES + CREDIT + 50.0, "{sent}");
    }
}

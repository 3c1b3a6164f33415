//! How fast audio may arrive (four times real time over 30 s, and little faster than it plays while much of it waits to be
//! recognized): a client that is faster is read more slowly.

use std::time::Duration;

/// Audio may arrive this many times as fast as it plays.
const TIMES: f64 = 4.0;
/// The credit that a client can save up: 30 s of real time at that speed.
const CREDIT: f64 = 30.0 * TIMES;
/// Seconds of speech that may wait to be recognized before audio is read more slowly: with the longest utterance behind it, less
/// than the minute that is kept.
const MOST_WAITING: f64 = 20.0;
/// How fast meanwhile: a client that speaks in real time, and was held up by its network, catches up.
const TIMES_MEANWHILE: f64 = 1.25;
/// The credit meanwhile, so that such a client may be uneven.
const CREDIT_MEANWHILE: f64 = 4.0;

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
    /// Takes `seconds` of audio that arrived at `now`, while `waiting` seconds of speech wait to be recognized; the answer is
    /// how long not to read on.
    pub fn take(&mut self, seconds: f64, waiting: f64, now: Duration) -> Duration {
        let (times, credit) =
            if waiting > MOST_WAITING { (TIMES_MEANWHILE, CREDIT_MEANWHILE) } else { (TIMES, CREDIT) };
        let passed = now.saturating_sub(self.at).as_secs_f64();
        self.at = self.at.max(now);
        self.credit = (self.credit + passed * times).min(credit) - seconds;
        Duration::from_secs_f64((-self.credit / times).clamp(0.0, 600.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn live_pace_slows_only_faster_than_real_time_audio() {
        let mut pace = Pace::default();
        assert!((0..1_000).all(|second| pace.take(1.0, 0.0, Duration::from_secs(second)).is_zero()));
        let (mut pace, mut now, mut sent) = (Pace::default(), Duration::ZERO, 0.0);
        while now < Duration::from_secs(600) {
            now += Duration::from_millis(10) + pace.take(1.0, 0.0, now);
            sent += 1.0;
        }
        assert!(sent <= 600.0 * TIMES + CREDIT + 50.0, "{sent}");
    }

    #[test]
    fn live_pace_reads_little_faster_than_real_time_while_speech_waits() {
        let mut pace = Pace::default();
        let (mut now, mut sent) = (Duration::ZERO, 0.0);
        while now < Duration::from_secs(60) {
            now += pace.take(1.0, 21.0, now);
            sent += 1.0;
        }
        assert!((75.0..=81.0).contains(&sent), "the credit of a minute ago is no use now: {sent}");
        let late = (60..120).map(|second| Duration::from_millis(second * 1_000 + second % 2 * 900));
        let waits = late.map(|at| pace.take(1.0, 21.0, at)).skip(2);
        assert!(
            waits.max() <= Some(Duration::from_secs(1)),
            "an uneven client that speaks in real time is read on"
        );
        assert!(
            pace.take(1.0, 0.0, Duration::from_secs(150)).is_zero(),
            "and faster again when all is recognized"
        );
    }
}

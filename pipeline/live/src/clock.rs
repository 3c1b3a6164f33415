//! When something was said: the stream's own seconds, mapped to the seconds of the session.

use std::collections::VecDeque;

/// A stream may lie this many seconds ahead of the session's clock before its clock is set anew.
const AHEAD: f64 = 2.0;
/// No utterance is longer; what claims to be is shortened.
const LONGEST: f64 = 3_600.0;
/// Settings that are remembered: a recognizer may still be at what came before the last pauses.
const REMEMBERED: usize = 32;

/// Maps the seconds of a stream (of its samples, or of a client's recognizer) to seconds since the session began. A
/// stream that was paused, or whose client counts from some moment of its own, is set anew by what arrives.
#[derive(Clone, Debug, Default)]
pub struct StreamClock {
    /// From which stream second on, and session seconds less stream seconds; the newest last.
    settings: VecDeque<(f64, f64)>,
    /// Where what was located last began, in the stream and in the session.
    last: Option<(f64, f64)>,
}

impl StreamClock {
    /// What lies between `start` and `end` of the stream arrives at `now`; it may be up to `behind` seconds old.
    pub fn arrived(&mut self, start: f64, end: f64, now: f64, behind: f64) {
        let expected = end + self.offset(start).unwrap_or(f64::INFINITY);
        if !(now - behind..=now + AHEAD).contains(&expected) {
            self.settings.push_back((start, now - end));
            if self.settings.len() > REMEMBERED {
                self.settings.pop_front();
            }
        }
    }

    /// The session seconds of what was said between two stream seconds; `end` is not before `start` and not after `now`
    /// by more than a stream may be ahead. What was said later begins no earlier, although many may come at once, of a time that
    /// the client was away, and each that lies too far ahead sets the clock anew.
    pub fn locate(&mut self, start: f64, end: f64, now: f64) -> (f64, f64) {
        let offset = self.offset(start).unwrap_or(now - end);
        let place = (end + offset).min(now + AHEAD);
        let from = (start + offset).clamp(place - LONGEST, place);
        let before = self.last.filter(|(of_stream, _)| *of_stream <= start).map_or(from, |(_, began)| began);
        let from = from.max(before);
        self.last = Some((start, from));
        (from, place.max(from))
    }

    fn offset(&self, second: f64) -> Option<f64> {
        let of_then = self.settings.iter().rev().find(|(from, _)| *from <= second);
        of_then.or(self.settings.front()).map(|(_, offset)| *offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn live_clock_starts_at_the_first_arrival_and_keeps_intervals() {
        let mut clock = StreamClock::default();
        clock.arrived(1_000.0, 1_002.0, 10.0, 60.0);
        assert_eq!(clock.locate(1_000.0, 1_002.0, 10.0), (8.0, 10.0));
        clock.arrived(1_003.0, 1_004.0, 15.0, 60.0);
        assert_eq!(clock.locate(1_003.0, 1_004.0, 15.0), (11.0, 12.0), "recognized three seconds late");
    }

    #[test]
    fn live_clock_restarts_after_a_pause_and_keeps_earlier_times() {
        let mut clock = StreamClock::default();
        clock.arrived(0.0, 0.0, 1.0, 2.0);
        clock.arrived(5.0, 5.0, 300.0, 2.0);
        assert_eq!(clock.locate(3.0, 4.0, 301.0), (4.0, 5.0));
        assert_eq!(clock.locate(5.0, 6.0, 302.0), (300.0, 301.0));
    }

    #[test]
    fn live_clock_keeps_buffered_segments_in_order() {
        let mut clock = StreamClock::default();
        let mut last = 0.0;
        for at in 0..20_u8 {
            let (start, now) = (2.0 * f64::from(at), 1.0 + 0.05 * f64::from(at));
            clock.arrived(start, start + 1.0, now, 60.0);
            let (from, until) = clock.locate(start, start + 1.0, now);
            assert!(last <= from && from <= until && until <= now + AHEAD, "{at}: {from} to {until}");
            last = from;
        }
    }

    #[test]
    fn live_clock_follows_a_client_that_restarts_its_own() {
        let mut clock = StreamClock::default();
        clock.arrived(100.0, 101.0, 5.0, 60.0);
        clock.arrived(0.0, 1.0, 200.0, 60.0);
        assert_eq!(clock.locate(0.0, 1.0, 200.0), (199.0, 200.0));
    }

    #[test]
    fn live_clock_bounds_utterances_to_an_hour_and_the_present() {
        let mut clock = StreamClock::default();
        clock.arrived(0.0, 1e9, 5.0, 60.0);
        assert_eq!(clock.locate(0.0, 1e9, 5.0), (5.0 - LONGEST, 5.0));
        assert_eq!(clock.locate(1e9, 2e9, 5.0), (5.0, 5.0 + AHEAD));
    }
}

//! Where the stream's seconds are in the session: pauses are not sent, and a new connection begins at zero again.

use std::collections::VecDeque;

use crate::RATE;

/// Pieces that are remembered; a result is about the last of them.
const MOST: usize = 512;

/// One connection's timeline, in samples of one track.
#[derive(Default)]
pub(super) struct Timeline {
    /// Where a piece begins: in the stream, in the session.
    pieces: VecDeque<(u64, u64)>,
    streamed: u64,
}

impl Timeline {
    /// `length` samples of the session from `at` on were sent.
    pub(super) fn sent(&mut self, at: u64, length: u64) {
        let follows =
            self.pieces.back().is_some_and(|(stream, session)| session + (self.streamed - stream) == at);
        if !follows {
            self.pieces.push_back((self.streamed, at));
            if self.pieces.len() > MOST {
                self.pieces.pop_front();
            }
        }
        self.streamed += length;
    }

    /// The session's sample at `seconds` of the stream, or behind it where something ends; never beyond what was sent.
    pub(super) fn begin(&self, seconds: f64) -> u64 {
        self.at(self.samples(seconds), |stream, piece| piece <= stream)
    }

    /// The session's sample at which something ends.
    pub(super) fn end(&self, seconds: f64) -> u64 {
        self.at(self.samples(seconds), |stream, piece| piece < stream)
    }

    fn at(&self, stream: u64, is_before: impl Fn(u64, u64) -> bool) -> u64 {
        let piece = self.pieces.iter().rev().find(|(piece, _)| is_before(stream, *piece));
        let (begin, session) = piece.or(self.pieces.front()).copied().unwrap_or_default();
        session + stream.saturating_sub(begin)
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "`as` saturates, and the result is bounded by what was sent"
    )]
    fn samples(&self, seconds: f64) -> u64 {
        ((seconds * f64::from(RATE)).round() as u64).min(self.streamed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = RATE as u64;

    #[test]
    fn timeline_counts_unsent_pauses() {
        let mut timeline = Timeline::default();
        timeline.sent(10 * SECOND, SECOND);
        timeline.sent(11 * SECOND, SECOND);
        timeline.sent(60 * SECOND, 2 * SECOND);
        assert_eq!(timeline.pieces.len(), 2);
        assert_eq!(timeline.begin(0.5), 10 * SECOND + SECOND / 2);
        assert_eq!(timeline.end(2.0), 12 * SECOND, "the end of what was before the pause");
        assert_eq!(timeline.begin(2.0), 60 * SECOND, "the beginning of what was behind it");
        assert_eq!(timeline.end(3.5), 61 * SECOND + SECOND / 2);
    }

    #[test]
    fn timeline_clamps_times_to_the_sent_audio() {
        let mut timeline = Timeline::default();
        timeline.sent(5 * SECOND, SECOND);
        assert_eq!(timeline.end(1e300), 6 * SECOND);
        assert_eq!(timeline.end(f64::INFINITY), 6 * SECOND);
        assert_eq!(timeline.begin(f64::NAN), 5 * SECOND);
        assert_eq!(timeline.begin(-4.0), 5 * SECOND);
        assert_eq!(Timeline::default().end(3.0), 0);
    }
}

//! Is this speech? A small neural network judges 16 ms at a time (earshot); hysteresis makes speech and silence of
//! its scores.

use earshot::Detector;

/// Samples of one frame: 16 ms.
pub(crate) const FRAME: usize = 256;

/// Speech begins when enough of the last frames score as high as this …
const BEGIN_SCORE: f32 = 0.5;
const BEGIN_FRAMES: u32 = 3;
/// … of so many.
pub(crate) const BEGIN_WINDOW: u32 = 5;
/// A frame below this is quiet.
const END_SCORE: f32 = 0.35;
/// Speech ends after so many quiet frames in a row: 700 ms.
pub(crate) const END_FRAMES: u32 = 44;

/// What one frame did.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Judged {
    /// Speech is under way after this frame.
    pub(crate) speaking: bool,
    /// The frame itself is not quiet.
    pub(crate) voiced: bool,
    /// From 0 to 1.
    pub(crate) score: f32,
}

/// Listens to one track.
pub(crate) struct Voice {
    detector: Box<Detector>,
    hysteresis: Hysteresis,
}

impl Voice {
    pub(crate) fn new() -> Self {
        Self { detector: Detector::default_boxed(), hysteresis: Hysteresis::default() }
    }

    /// Judges the next frame, of exactly [`FRAME`] samples.
    pub(crate) fn judge(&mut self, frame: &[i16]) -> Judged {
        self.hysteresis.judge(self.detector.predict_i16(frame))
    }
}

#[derive(Default)]
struct Hysteresis {
    speaking: bool,
    /// The last frames, newest in the lowest bit: whether they scored high.
    recent: u32,
    quiet: u32,
}

impl Hysteresis {
    fn judge(&mut self, score: f32) -> Judged {
        let voiced = score >= END_SCORE;
        self.recent = (self.recent << 1 | u32::from(score >= BEGIN_SCORE)) & ((1 << BEGIN_WINDOW) - 1);
        self.quiet = if voiced { 0 } else { self.quiet + 1 };
        let before = self.speaking;
        self.speaking = match before {
            true => self.quiet < END_FRAMES,
            false => self.recent.count_ones() >= BEGIN_FRAMES,
        };
        if before && !self.speaking {
            self.recent = 0;
        }
        Judged { speaking: self.speaking, voiced, score }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(scores: &[f32]) -> Vec<bool> {
        let mut hysteresis = Hysteresis::default();
        scores.iter().map(|score| hysteresis.judge(*score).speaking).collect()
    }

    #[test]
    fn voice_activity_starts_with_three_of_five_loud_frames() {
        assert_eq!(judged(&[0.9, 0.1, 0.9, 0.1, 0.9]), [false, false, false, false, true]);
        assert_eq!(judged(&[0.9, 0.1, 0.1, 0.9, 0.1, 0.1, 0.9]), [false; 7]);
    }

    #[test]
    fn voice_activity_bridges_short_pauses_and_ends_after_long_ones() {
        let mut scores = vec![0.9; 3];
        scores.extend([0.1; 43]);
        scores.push(0.4);
        scores.extend([0.1; 44]);
        let judged = judged(&scores);
        assert!(judged[2..judged.len() - 1].iter().all(|speaking| *speaking));
        assert_eq!(judged.last(), Some(&false));
    }
}

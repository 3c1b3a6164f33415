//! From frames to utterances: what is said between two pauses, at most 28 s of it.

use std::collections::VecDeque;

use crate::voice::{BEGIN_WINDOW, END_FRAMES, FRAME, Judged};

/// Silence kept before and behind an utterance, in frames: 300 ms.
const PAD: usize = 19;
/// Frames kept before speech is known to have begun.
pub(crate) const BEFORE: usize = PAD + BEGIN_WINDOW as usize;
/// The longest utterance: 28 s.
pub(crate) const LONGEST: usize = 1_750 * FRAME;
/// In its last 4 s a utterance that does not end is cut at its quietest frame.
const CUT_FROM: usize = 1_500 * FRAME;
/// Less speech than this is a click: 160 ms.
const FEWEST_VOICED: u32 = 10;

/// What was said on one track between two pauses.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Utterance {
    /// The channel.
    pub(crate) track: u16,
    /// The session's sample with which it begins.
    pub(crate) start: u64,
    /// Its audio.
    pub(crate) samples: Vec<i16>,
    /// Samples in which there was speech.
    pub(crate) voiced: u32,
}

impl Utterance {
    /// The session's sample behind its last.
    pub(crate) fn end(&self) -> u64 {
        self.start + self.samples.len() as u64
    }
}

/// Cuts one track.
pub(crate) struct Cutter {
    track: u16,
    /// The last frames while there is silence.
    before: VecDeque<i16>,
    open: Option<Open>,
}

/// An utterance under way.
struct Open {
    start: u64,
    samples: Vec<i16>,
    voiced: u32,
    /// Voiced frames without which it is nothing: one is enough for what goes on behind a cut.
    fewest: u32,
    /// The quietest place so far at which it may be cut.
    cut: Option<Cut>,
}

struct Cut {
    /// Samples before it.
    samples: usize,
    /// Voiced frames before it.
    voiced: u32,
    score: f32,
}

impl Cutter {
    pub(crate) fn new(track: u16) -> Self {
        Self { track, before: VecDeque::new(), open: None }
    }

    /// Takes the next frame, which begins at sample `at`; returns the utterance that it ends.
    pub(crate) fn take(&mut self, at: u64, frame: &[i16], judged: Judged) -> Option<Utterance> {
        if !judged.speaking {
            let ended = self.open.take().map(|open| self.ended(open, frame));
            self.remember(frame);
            return ended.and_then(|open| self.utterance(open));
        }
        if self.open.is_none() {
            let samples: Vec<i16> = self.before.drain(..).collect();
            // Of the frames before, enough were speech to begin: all of them count.
            let voiced = BEGIN_WINDOW - 1;
            self.open = Some(Open {
                start: at - samples.len() as u64,
                samples,
                voiced,
                fewest: FEWEST_VOICED,
                cut: None,
            });
        }
        let open = self.open.as_mut()?;
        open.samples.extend_from_slice(frame);
        open.voiced += u32::from(judged.voiced);
        if open.samples.len() >= CUT_FROM && open.cut.as_ref().is_none_or(|cut| judged.score <= cut.score) {
            open.cut = Some(Cut { samples: open.samples.len(), voiced: open.voiced, score: judged.score });
        }
        if open.samples.len() < LONGEST {
            return None;
        }
        let cut = open.cut.take()?;
        self.cut(&cut)
    }

    /// Samples that are kept of what is being said, or of the silence before it.
    pub(crate) fn samples(&self) -> usize {
        self.before.len() + self.open.as_ref().map_or(0, |open| open.samples.len())
    }

    /// Ends the utterance under way; what follows without a pause begins another.
    pub(crate) fn flush(&mut self) -> Option<Utterance> {
        let open = self.open.as_ref()?;
        self.cut(&Cut { samples: open.samples.len(), voiced: open.voiced, score: 0.0 })
    }

    fn cut(&mut self, cut: &Cut) -> Option<Utterance> {
        let mut open = self.open.take()?;
        self.open = Some(Open {
            start: open.start + cut.samples as u64,
            samples: open.samples.split_off(cut.samples),
            voiced: open.voiced - cut.voiced,
            fewest: 1,
            cut: None,
        });
        open.voiced = cut.voiced;
        self.utterance(open)
    }

    /// The utterance without most of the pause that ended it, which may be the silence before the next one.
    fn ended(&mut self, mut open: Open, frame: &[i16]) -> Open {
        open.samples.extend_from_slice(frame);
        let pause = (END_FRAMES as usize - PAD) * FRAME;
        let silence = open.samples.split_off(open.samples.len().saturating_sub(pause));
        // Its last frame is remembered by the caller.
        self.before.extend(silence.iter().take(silence.len().saturating_sub(frame.len())));
        open
    }

    fn remember(&mut self, frame: &[i16]) {
        self.before.extend(frame);
        let surplus = self.before.len().saturating_sub(BEFORE * FRAME);
        self.before.drain(..surplus);
    }

    fn utterance(&self, open: Open) -> Option<Utterance> {
        let Open { start, samples, voiced, fewest, .. } = open;
        let is_speech = voiced >= fewest && !samples.is_empty();
        is_speech.then_some(Utterance { track: self.track, start, samples, voiced: voiced * FRAME as u32 })
    }
}

#[cfg(test)]
mod tests;

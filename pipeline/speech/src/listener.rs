//! The ear that every engine has: frames of 16 ms on all tracks at once, each judged for speech.

use crate::voice::{FRAME, Judged, Voice};
use crate::{Activity, Audio, seconds};

/// Listens to one session.
pub(crate) struct Listener {
    voices: Vec<Voice>,
    /// Per track, less than a frame.
    pending: Vec<Vec<i16>>,
    /// Samples per track in whole frames so far.
    position: u64,
    speaking: bool,
    last_speech: Option<u64>,
}

/// One frame of all tracks.
pub(crate) struct Frame<'a> {
    /// The session's sample with which it begins.
    pub(crate) at: u64,
    tracks: &'a [Vec<i16>],
    offset: usize,
    judged: &'a [Judged],
}

impl Frame<'_> {
    /// Each track's samples and what they are.
    pub(crate) fn tracks(&self) -> impl Iterator<Item = (&[i16], Judged)> {
        let samples = self.tracks.iter().filter_map(|track| track.get(self.offset..self.offset + FRAME));
        samples.zip(self.judged.iter().copied())
    }

    /// There is speech on a track.
    pub(crate) fn speaking(&self) -> bool {
        self.judged.iter().any(|judged| judged.speaking)
    }
}

impl Listener {
    pub(crate) fn new(channels: u8) -> Self {
        let channels = usize::from(channels.clamp(1, 2));
        Self {
            voices: (0..channels).map(|_| Voice::new()).collect(),
            pending: vec![Vec::new(); channels],
            position: 0,
            speaking: false,
            last_speech: None,
        }
    }

    /// Hands every whole frame to `sink`, in order.
    pub(crate) fn hear(&mut self, audio: &Audio, mut sink: impl FnMut(&Frame<'_>)) -> Activity {
        for (pending, track) in self.pending.iter_mut().zip(&audio.tracks) {
            pending.extend_from_slice(track);
        }
        let whole = self.pending.iter().map(Vec::len).min().unwrap_or(0) / FRAME;
        let mut judged = vec![Judged::default(); self.voices.len()];
        for offset in (0..whole).map(|frame| frame * FRAME) {
            for ((judged, voice), track) in judged.iter_mut().zip(&mut self.voices).zip(&self.pending) {
                *judged = voice.judge(track.get(offset..offset + FRAME).unwrap_or_default());
            }
            let frame = Frame { at: self.position, tracks: &self.pending, offset, judged: &judged };
            self.position += FRAME as u64;
            self.speaking = frame.speaking();
            if judged.iter().any(|judged| judged.speaking && judged.voiced) {
                self.last_speech = Some(self.position);
            }
            sink(&frame);
        }
        for pending in &mut self.pending {
            pending.drain(..whole * FRAME);
        }
        self.activity()
    }

    fn activity(&self) -> Activity {
        Activity { speaking: self.speaking, last_speech: self.last_speech.map(seconds) }
    }
}

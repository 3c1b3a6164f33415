//! The audio of a session: decoded, paced, and handed to its recognizer.

use std::time::Duration;

use live::Pace;
use speech::{Decoder, Recognizer, Undecodable, Usage, seconds};

use crate::AudioTap;

/// How often at most the session is reminded of ongoing speech, in seconds of audio.
const REMINDED: f64 = 0.5;

/// The ear of one session.
pub(super) struct Ear {
    decoder: Decoder,
    /// Sends it to the server of the user, where one is set.
    tap: Box<dyn AudioTap>,
    recognizer: Box<dyn Recognizer>,
    pace: Pace,
    /// Samples per track so far.
    position: u64,
    reminded: f64,
    /// Flushes that the recognizer has not answered.
    flushes: usize,
}

/// What came of one frame.
pub(super) struct Heard {
    /// The seconds of the stream with which it begins and ends.
    pub(super) from: f64,
    pub(super) until: f64,
    /// There was speech since the last such reminder.
    pub(super) speech: bool,
    /// Speech is under way at its end.
    pub(super) speaking: bool,
    /// How long nothing more is to be read: the client sends faster than it may.
    pub(super) wait: Duration,
}

impl Ear {
    pub(super) fn new(decoder: Decoder, tap: Box<dyn AudioTap>, recognizer: Box<dyn Recognizer>) -> Self {
        let (pace, reminded) = (Pace::default(), f64::NEG_INFINITY);
        Self { decoder, tap, recognizer, pace, position: 0, reminded, flushes: 0 }
    }

    /// Takes a frame that arrived at `now`.
    ///
    /// # Errors
    /// See [`Undecodable`].
    pub(super) fn hear(&mut self, frame: &[u8], now: Duration) -> Result<Heard, Undecodable> {
        let audio = self.decoder.decode(frame)?;
        self.tap.hear(&audio.source);
        let from = seconds(self.position);
        self.position += audio.samples() as u64;
        let until = seconds(self.position);
        let heard = self.recognizer.hear(&audio);
        let wait = self.pace.take(until - from, self.recognizer.waiting(), now);
        let speech = heard.last_speech.filter(|spoken| *spoken >= self.reminded + REMINDED);
        self.reminded = speech.unwrap_or(self.reminded);
        Ok(Heard { from, until, speech: speech.is_some(), speaking: heard.speaking, wait })
    }

    pub(super) fn is_recognizing(&self) -> bool {
        self.recognizer.is_recognizing()
    }

    /// The client sends no more audio, in the middle of speech.
    pub(super) fn pause(&mut self) {
        self.recognizer.pause();
    }

    pub(super) fn flush(&mut self) {
        self.flushes += 1;
        self.recognizer.flush();
    }

    /// The recognizer has answered a flush; whether it was the last one, so that everything that was heard is settled.
    pub(super) fn flushed(&mut self) -> bool {
        self.flushes = self.flushes.saturating_sub(1);
        self.flushes == 0
    }

    /// Seconds of audio so far.
    pub(super) fn received(&self) -> f64 {
        seconds(self.position)
    }

    /// What recognition has taken so far.
    pub(super) fn usage(&self) -> Usage {
        self.recognizer.usage()
    }
}

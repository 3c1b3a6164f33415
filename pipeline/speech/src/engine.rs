//! What a session asks of a speech engine, and what it gets back.

use std::fmt;
use std::future::ready;
use std::time::Duration;

use futures::future::BoxFuture;
use secrecy::SecretString;
use tokio::sync::mpsc;

use crate::{Audio, Reason, ServerHealth};

/// A speech engine, shared by all sessions of a process.
pub trait Engine: Send + Sync {
    /// Its name: `openai`, `deepgram`, `client` or `none`; a metric label and the `stt_provider` of segments.
    fn name(&self) -> &'static str;

    /// What it can do.
    fn capabilities(&self) -> Capabilities;

    /// Begins a session. Returns at once; connecting, and what fails there, is reported by events.
    /// Must be called inside a tokio runtime.
    fn open(&self, session: Session) -> Result<(Box<dyn Recognizer>, Events), BadKey>;

    /// What is known of the engine's server; `None`: it has none.
    fn server(&self) -> Option<ServerHealth> {
        None
    }

    /// Asks the server whether it is there and takes the key, at no cost.
    fn check_server(&self) -> BoxFuture<'_, ()> {
        Box::pin(ready(()))
    }
}

/// One session's recognizer. Dropping it says that there is no more audio: what was heard is recognized or given up, then the
/// events end.
pub trait Recognizer: Send {
    /// Takes the next audio of the session, in order. Never waits: what the engine cannot keep up with is kept
    /// within bounds, and the oldest is then given up as a [`Event::Gap`].
    fn hear(&mut self, audio: &Audio) -> Activity;

    /// Seconds of speech that wait to be recognized. Audio must not be given faster than it plays while they grow: what is kept
    /// is bounded.
    fn waiting(&self) -> f64;

    /// Whether speech that was heard is being recognized, so that words of it may come.
    fn is_recognizing(&self) -> bool {
        false
    }

    /// No more audio comes for now, and no silence that would end the utterances under way: they are recognized as they are.
    fn pause(&mut self) {}

    /// Ends the utterances under way. [`Event::Flushed`] follows when everything heard so far was recognized or
    /// given up; a caller in a hurry sets its own limit.
    fn flush(&mut self);

    /// What the session has used so far.
    fn usage(&self) -> Usage;
}

/// The events of one session; `recv` returns `None` after the last. Dropping it aborts recognition.
pub type Events = mpsc::Receiver<Event>;

/// How many events wait for a slow session: interim ones are dropped beyond it, final ones wait.
const EVENTS: usize = 64;

/// A channel for one session's events, for implementations of [`Engine`].
#[must_use]
pub fn channel() -> (mpsc::Sender<Event>, Events) {
    mpsc::channel(EVENTS)
}

/// What an engine can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// It recognizes audio; `client` and `none` only watch for speech.
    pub audio: bool,
    /// It takes a user's own OpenAI key.
    pub own_key: bool,
}

/// What a session wants.
#[derive(Clone, Debug)]
pub struct Session {
    /// What is spoken.
    pub language: Language,
    /// Tracks of its audio: 1, or 2 with a speaker each.
    pub channels: u8,
    /// Names and terms that are likely to be said; what is too much for the engine is left out.
    pub vocabulary: Vec<String>,
    /// The user's own OpenAI key, used instead of the service's and never beside it.
    pub own_key: Option<SecretString>,
}

/// The language of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Language {
    /// The engine decides (`multi`).
    Any,
    /// A tag such as `en` or `pt-BR`.
    Tag(String),
}

impl Language {
    /// Reads the query's `language`; `None` when it cannot be a language tag.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if matches!(text, "multi" | "auto") {
            return Some(Self::Any);
        }
        let mut parts = text.split('-');
        let is_letters = |part: &str| part.bytes().all(|byte| byte.is_ascii_alphabetic());
        let first = parts.next().is_some_and(|part| (2..=3).contains(&part.len()) && is_letters(part));
        let is_part = |part: &str| {
            (2..=8).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_alphanumeric())
        };
        (first && text.len() <= 16 && parts.all(is_part)).then(|| Self::Tag(of_today(text).to_owned()))
    }
}

/// The code that speech engines know, where telephones and browsers send another one for the language; else `tag`.
fn of_today(tag: &str) -> &str {
    const CODES: [(&str, &str); 5] = [("iw", "he"), ("in", "id"), ("ji", "yi"), ("nb", "no"), ("fil", "tl")];
    let code = tag.split('-').next().unwrap_or(tag);
    CODES.iter().find(|(sent, _)| code.eq_ignore_ascii_case(sent)).map_or(tag, |(_, known)| known)
}

/// Whether there is speech, from voice activity detection (in every engine).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Activity {
    /// Speech is under way on a channel at the end of this audio.
    pub speaking: bool,
    /// The session's time, in seconds, of the last frame with speech so far; the silence timer counts from it.
    pub last_speech: Option<f64>,
}

/// What a recognizer reports.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// The engine's state changed: for `service_status`.
    Status(Status),
    /// Words that may still change, for the client only. Each replaces the ones before it on its speaker's channel, and
    /// the next final ones replace them all.
    Interim(Vec<Draft>),
    /// Words that will not change, in the order of time on each channel.
    Final(Vec<Draft>),
    /// Speech that was given up.
    Gap(Gap),
    /// Everything heard before the last [`Recognizer::flush`] is settled.
    Flushed,
}

/// The state of a session's engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Connecting to the engine (`stt_initiating`).
    Connecting,
    /// The engine answers (`ready`).
    Ready,
    /// The engine fails and is tried again; audio is kept meanwhile (`stt_failed`, retryable).
    Failing(Reason),
    /// The engine failed for good; nothing more will be recognized (`stt_failed`, then close 1011, or 4003 for
    /// [`Reason::OwnKeyRejected`]). With [`Reason::NoSpeechEngine`], which comes first and at once, the session goes on
    /// with client transcripts.
    Failed(Reason),
}

/// Recognized words. Times are seconds from the session's first sample.
#[derive(Clone, PartialEq)]
pub struct Draft {
    /// The words; never blank.
    pub text: String,
    /// `SPEAKER_n`: the channel where there are two, else whom the engine heard.
    pub speaker: u16,
    /// Where they begin.
    pub start: f64,
    /// Where they end; never before `start`.
    pub end: f64,
}

impl fmt::Debug for Draft {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { text, speaker, start, end } = self;
        write!(f, "Draft({} bytes, speaker {speaker}, {start:.2}..{end:.2})", text.len())
    }
}

/// Audio with speech in it that will not be recognized.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gap {
    /// Where it begins, in seconds.
    pub start: f64,
    /// Where it ends.
    pub end: f64,
    /// Why.
    pub reason: Reason,
}

/// What a session has used so far; only grows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Usage {
    /// Seconds of audio that the engine was sent and billed.
    pub audio_seconds: f64,
    /// Utterances that were recognized (with `deepgram`: final results with words).
    pub utterances: u64,
    /// Parts given up.
    pub gaps: u64,
    /// Seconds given up.
    pub gap_seconds: f64,
}

/// The user's own key cannot be sent in a header, or the engine takes none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the user's own key cannot be used with this speech engine")]
pub struct BadKey;

/// Counts what engines do. Called from the sessions themselves: must return at once.
pub trait Meter: Send + Sync {
    /// A request, or a connection, ended with `outcome`: `answered`, a [`Reason`], or `circuit_open` for one that was
    /// not made.
    fn called(&self, outcome: &'static str) {
        let _ = outcome;
    }

    /// Whether the engine is left alone now because it was unavailable several times in a row.
    fn circuit(&self, is_open: bool) {
        let _ = is_open;
    }

    /// Words became final so long after they were said.
    fn recognized(&self, latency: Duration) {
        let _ = latency;
    }

    /// So much audio was sent to the engine and billed.
    fn billed(&self, audio: Duration) {
        let _ = audio;
    }

    /// Speech was given up.
    fn gap(&self, reason: Reason, audio: Duration) {
        let _ = (reason, audio);
    }

    /// Words that the engine invents on silence were dropped.
    fn hallucination(&self) {}
}

/// Counts nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoMeter;

impl Meter for NoMeter {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn language_tags_are_parsed_and_others_refused() {
        for text in ["en", "pt-BR", "zh-Hans", "es-419", "yue"] {
            assert_eq!(Language::parse(text), Some(Language::Tag(text.to_owned())));
        }
        for (sent, known) in [
            ("iw", "he"),
            ("IW-IL", "he"),
            ("in", "id"),
            ("nb-NO", "no"),
            ("fil-PH", "tl"),
            ("pt-BR", "pt-BR"),
        ] {
            assert_eq!(Language::parse(sent), Some(Language::Tag(known.to_owned())), "{sent}");
        }
        assert_eq!(Language::parse("multi"), Some(Language::Any));
        for text in ["", "e", "english", "en-", "en_US", "e1", "en\n", "en-x-very-long-tag-indeed"] {
            assert_eq!(Language::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn speech_debug_output_hides_words() {
        let draft = Draft { text: "my secret".into(), speaker: 0, start: 0.0, end: 1.0 };
        assert!(!format!("{:?}", Event::Final(vec![draft])).contains("secret"));
    }
}

//! What the engine sends, as far as it is used.

use serde::Deserialize;

use super::timeline::Timeline;
use crate::openai::cleaned;
use crate::{Draft, seconds};

/// A text frame.
#[derive(Debug)]
pub(super) enum Message {
    Results(Results),
    /// It gave up.
    Error,
    /// Everything was answered; the end of a stream.
    Metadata,
    /// Nothing to act on.
    Other,
}

/// Words, interim or final.
#[derive(Debug, Deserialize)]
pub(super) struct Results {
    #[serde(default)]
    channel_index: Vec<u16>,
    pub(super) start: f64,
    pub(super) duration: f64,
    #[serde(default)]
    pub(super) is_final: bool,
    #[serde(default)]
    pub(super) from_finalize: bool,
    channel: Channel,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Channel {
    alternatives: Vec<Alternative>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Alternative {
    transcript: String,
    words: Vec<Word>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Word {
    word: String,
    punctuated_word: Option<String>,
    start: f64,
    end: f64,
    speaker: Option<u16>,
}

impl Message {
    /// `None` when it cannot be read: what it held is not known, so that it may be a final result.
    pub(super) fn read(text: &str) -> Option<Self> {
        #[derive(Deserialize)]
        struct Kind {
            r#type: String,
        }
        let Kind { r#type } = serde_json::from_str(text).ok()?;
        match r#type.as_str() {
            "Results" => serde_json::from_str(text).ok().map(Self::Results),
            "Error" => Some(Self::Error),
            "Metadata" => Some(Self::Metadata),
            _ => Some(Self::Other),
        }
    }
}

impl Results {
    /// The channel it is about.
    pub(super) fn track(&self) -> u16 {
        self.channel_index.first().copied().unwrap_or(0)
    }

    /// Where it ends, in seconds of the stream.
    pub(super) fn end(&self) -> f64 {
        self.start + self.duration.max(0.0)
    }

    /// A draft for each change of speaker.
    pub(super) fn drafts(self, timeline: &Timeline, channels: u8) -> Vec<Draft> {
        let (track, start, end) = (self.track(), self.start, self.end());
        let Some(best) = self.channel.alternatives.into_iter().next() else { return Vec::new() };
        if best.words.is_empty() {
            let text = cleaned(&best.transcript);
            let times = (timeline.begin(start), timeline.end(end));
            return draft(text, if channels > 1 { track } else { 0 }, times).into_iter().collect();
        }
        let speaker = |word: &Word| if channels > 1 { track } else { word.speaker.unwrap_or(0) };
        let turns = best.words.chunk_by(|one, other| speaker(one) == speaker(other));
        let draft = |turn: &[Word]| {
            let (first, last) = (turn.first()?, turn.last()?);
            let words = turn.iter().map(|word| word.punctuated_word.as_deref().unwrap_or(&word.word));
            let text = cleaned(&words.collect::<Vec<_>>().join(" "));
            draft(text, speaker(first), (timeline.begin(first.start), timeline.end(last.end)))
        };
        turns.filter_map(draft).collect()
    }
}

fn draft(text: String, speaker: u16, (start, end): (u64, u64)) -> Option<Draft> {
    let (start, end) = (seconds(start), seconds(end.max(start)));
    (!text.is_empty()).then_some(Draft { text, speaker, start, end })
}

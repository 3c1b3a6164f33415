//! What a transcription server answers, and what of it was really said.

use serde::Deserialize;

use crate::utterance::Utterance;
use crate::{Draft, RATE, seconds};

/// Speech has about 15 characters a second in any script; what an answer has beyond this was not heard.
const MOST_CHARACTERS_A_SECOND: usize = 60;
/// And this much more for the shortest utterances.
const SOME_CHARACTERS: usize = 200;
/// Whisper's own limits for "this is silence".
const SILENT: f64 = 0.6;
const UNSURE: f64 = -1.0;
/// With less speech than this in the audio, polite words alone are doubted: 400 ms.
const LITTLE_SPEECH: u32 = RATE * 2 / 5;

/// Words that recognizers learnt from subtitles and report on silence.
const INVENTED: [&str; 30] = [
    "thanks for watching",
    "thank you for watching",
    "thank you so much for watching",
    "thank you very much for watching",
    "thanks for watching and see you next time",
    "thanks for watching dont forget to like and subscribe",
    "please subscribe",
    "please subscribe to my channel",
    "please like and subscribe",
    "dont forget to like and subscribe",
    "like and subscribe",
    "subtitles by the amaraorg community",
    "subtitled by the amaraorg community",
    "transcription by castingwords",
    "transcribed by httpsotterai",
    "subs by wwwzeoranger co uk",
    "untertitel der amaraorgcommunity",
    "untertitel im auftrag des zdf fur funk 2017",
    "untertitelung des zdf 2020",
    "vielen dank furs zuschauen",
    "soustitres realises par la communaute damaraorg",
    "sous titrage st 501",
    "merci davoir regarde cette video",
    "subtitulos realizados por la comunidad de amaraorg",
    "gracias por ver el video",
    "sottotitoli creati dalla comunita amaraorg",
    "legendas pela comunidade amaraorg",
    "obrigado por assistir",
    "ご視聴ありがとうございました",
    "感谢观看",
];
/// Said by people too, but not in a breath.
const DOUBTED: [&str; 8] = ["thank you", "thanks", "you", "bye", "bye bye", "the end", "okay", "so"];

/// An answer with words, if any were heard.
#[derive(Debug)]
pub(super) struct Answer {
    text: String,
    parts: Vec<Part>,
}

#[derive(Debug, Deserialize)]
struct Part {
    #[serde(default)]
    text: String,
    start: Option<f64>,
    end: Option<f64>,
    no_speech_prob: Option<f64>,
    avg_logprob: Option<f64>,
    speaker: Option<serde_json::Value>,
}

/// What an answer comes to.
#[derive(Debug, PartialEq)]
pub(super) struct Said {
    pub(super) drafts: Vec<Draft>,
    /// Something was dropped that was never said.
    pub(super) invented: bool,
}

impl Answer {
    /// `None` when it is not an answer.
    pub(super) fn read(body: &[u8]) -> Option<Self> {
        #[derive(Deserialize)]
        struct Body {
            text: Option<String>,
            segments: Option<Vec<Part>>,
        }
        let Body { text, segments } = serde_json::from_slice(body).ok()?;
        (text.is_some() || segments.is_some())
            .then(|| Self { text: text.unwrap_or_default(), parts: segments.unwrap_or_default() })
    }

    /// The words of `utterance`. With two channels the channel is the speaker; else the server may know better.
    pub(super) fn said(self, utterance: &Utterance, channels: u8, prompt: &str) -> Said {
        let mut said = Said { drafts: Vec::new(), invented: false };
        let heard = utterance.samples.len() / RATE as usize;
        let mut room = SOME_CHARACTERS + heard * MOST_CHARACTERS_A_SECOND;
        let whole = self.parts.iter().all(|part| part.text.trim().is_empty());
        let parts = if whole { vec![Part::whole(self.text)] } else { self.parts };
        for part in parts {
            let text = cleaned(&part.text);
            if text.is_empty() {
                continue;
            }
            let length = text.chars().count();
            if part.is_silence() || length > room || is_invented(&text, utterance, prompt) {
                said.invented = true;
                continue;
            }
            room -= length;
            let speaker = if channels > 1 { utterance.track } else { part.speaker() };
            let (start, end) = part.times(utterance);
            said.drafts.push(Draft { text, speaker, start, end });
        }
        said
    }
}

impl Part {
    fn whole(text: String) -> Self {
        Self { text, start: None, end: None, no_speech_prob: None, avg_logprob: None, speaker: None }
    }

    fn is_silence(&self) -> bool {
        self.no_speech_prob.is_some_and(|share| share > SILENT)
            && self.avg_logprob.is_some_and(|sure| sure < UNSURE)
    }

    /// `A`, `B` … or `SPEAKER_01`, as diarizing servers label them.
    fn speaker(&self) -> u16 {
        let label = self.speaker.as_ref().and_then(serde_json::Value::as_str).unwrap_or_default();
        match label.as_bytes() {
            [letter @ b'A'..=b'Z'] => u16::from(letter - b'A'),
            _ => label.strip_prefix("SPEAKER_").and_then(|number| number.parse().ok()).unwrap_or(0),
        }
    }

    /// Within the utterance, whatever the server says.
    fn times(&self, utterance: &Utterance) -> (f64, f64) {
        let (first, last) = (seconds(utterance.start), seconds(utterance.end()));
        let at = |time: Option<f64>, else_: f64| {
            let time = time.filter(|time| time.is_finite()).map_or(else_, |time| first + time);
            time.clamp(first, last)
        };
        let start = at(self.start, first);
        (start, at(self.end, last).max(start))
    }
}

fn is_invented(text: &str, utterance: &Utterance, prompt: &str) -> bool {
    let words = normalized(text);
    let echoes = |prompt: &str| !prompt.is_empty() && words == normalized(prompt);
    words.is_empty()
        || INVENTED.contains(&words.as_str())
        || echoes(prompt)
        || (utterance.voiced < LITTLE_SPEECH && DOUBTED.contains(&words.as_str()))
}

/// Without control characters, white space as single spaces.
pub(crate) fn cleaned(text: &str) -> String {
    let plain: String = text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Letters and digits in lower case, without the accents of western Europe, single spaces.
fn normalized(text: &str) -> String {
    let letters = text.chars().flat_map(char::to_lowercase).filter_map(|letter| match letter {
        'à' | 'á' | 'â' | 'ä' | 'ã' => Some('a'),
        'è' | 'é' | 'ê' | 'ë' => Some('e'),
        'ì' | 'í' | 'î' | 'ï' => Some('i'),
        'ò' | 'ó' | 'ô' | 'ö' | 'õ' => Some('o'),
        'ù' | 'ú' | 'û' | 'ü' => Some('u'),
        letter if letter.is_alphanumeric() || letter == ' ' => Some(letter),
        _ => None,
    });
    letters.collect::<String>().split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
#[path = "answer_tests.rs"]
mod tests;

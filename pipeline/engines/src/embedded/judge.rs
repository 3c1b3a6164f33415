//! Whether a talk is worth keeping (DECISIONS §5, `detect_discard`). Unsure keeps.

use std::collections::BTreeSet;

use records::Talk;

use super::lexicon::{FILLERS, MIC_TEST};
use super::text::{content_stems, sentences, words};
use super::{
    dates::{DayOrder, Reference},
    decisions::is_decision,
    items, memories, planted,
};

/// Longer talk is kept unread.
const LONG: usize = 100;
const FEWEST_WORDS: usize = 6;
const FEWEST_STEMS: usize = 4;
/// In languages whose words we do not know, only next to nothing is discarded.
const FEWEST_FOREIGN_WORDS: usize = 3;

/// Why a talk is not worth keeping: a closed list, fit for logs and tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiscardReason {
    /// No word at all.
    Empty,
    /// A microphone test.
    MicTest,
    /// Sounds and courtesies alone.
    Fillers,
    /// Fewer words than a sentence, and nothing in them.
    FewWords,
    /// Words that name too little.
    NoTopic,
}

impl DiscardReason {
    /// Every reason.
    pub const ALL: [Self; 5] = [Self::Empty, Self::MicTest, Self::Fillers, Self::FewWords, Self::NoTopic];

    /// Its name in logs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::MicTest => "mic_test",
            Self::Fillers => "fillers",
            Self::FewWords => "few_words",
            Self::NoTopic => "no_topic",
        }
    }
}

/// Why `talk` is to be discarded, if it is.
pub(super) fn reason(talk: &Talk, order: DayOrder) -> Option<DiscardReason> {
    let all: Vec<String> = talk.lines.iter().flat_map(|line| words(&line.text).collect::<Vec<_>>()).collect();
    if all.is_empty() {
        return Some(DiscardReason::Empty);
    }
    if all.len() > LONG {
        return None;
    }
    if !super::is_english(talk) {
        return (all.len() < FEWEST_FOREIGN_WORDS).then_some(DiscardReason::FewWords);
    }
    if is_mic_test(&all) {
        return Some(DiscardReason::MicTest);
    }
    if all.iter().all(|word| FILLERS.contains(&word.as_str())) {
        return Some(DiscardReason::Fillers);
    }
    if holds_something(talk, order) {
        return None;
    }
    if all.len() < FEWEST_WORDS {
        return Some(DiscardReason::FewWords);
    }
    (distinct_stems(talk) < FEWEST_STEMS).then_some(DiscardReason::NoTopic)
}

/// At least a third of the words test a microphone.
fn is_mic_test(words: &[String]) -> bool {
    let tests = words.iter().filter(|word| MIC_TEST.contains(&word.as_str())).count();
    let named =
        words.iter().any(|word| matches!(word.as_str(), "testing" | "test" | "mic" | "microphone" | "hello"));
    named && tests * 3 >= words.len()
}

fn distinct_stems(talk: &Talk) -> usize {
    talk.lines.iter().flat_map(|line| content_stems(&line.text)).collect::<BTreeSet<_>>().len()
}

/// A task, a date ahead, a decision, or a fact about the person.
fn holds_something(talk: &Talk, order: DayOrder) -> bool {
    let reference = Reference::of(talk, order);
    let dated =
        |text: &str| reference.find(text).iter().any(|date| date.precise && reference.moment(date).is_some());
    let sentences = sentences(talk, true);
    sentences.iter().any(|sentence| {
        (dated(&sentence.text) && !content_stems(&sentence.text).is_empty()) || is_decision(&sentence.text)
    }) || !items::extract(&planted::heard(talk, true), &reference).is_empty()
        || memories::any(talk)
}

#[cfg(test)]
mod tests {
    use super::super::tests::talk;
    use super::*;

    fn why(text: &str) -> Option<DiscardReason> {
        reason(&talk(text), DayOrder::default())
    }

    #[test]
    fn short_talk_that_holds_something_is_kept() {
        for kept in
            ["Buy milk tomorrow", "I'm allergic to nuts.", "We decided to cancel.", "Dentist on December 3rd"]
        {
            assert_eq!(why(kept), None, "{kept}");
        }
    }

    #[test]
    fn noise_is_discarded_for_a_reason_of_a_closed_list() {
        for (noise, reason) in [
            ("", DiscardReason::Empty),
            ("Uh.", DiscardReason::Fillers),
            ("Hello hello, test one two", DiscardReason::MicTest),
            ("Okay. Yeah, right. Well, okay then, bye bye.", DiscardReason::NoTopic),
            ("Where was it again?", DiscardReason::FewWords),
        ] {
            assert_eq!(why(noise), Some(reason), "{noise}");
        }
    }

    #[test]
    fn unknown_languages_are_kept_unless_there_is_next_to_nothing() {
        let mut foreign = talk("Wir treffen uns morgen");
        foreign.language = "de".to_owned();
        assert_eq!(reason(&foreign, DayOrder::default()), None);
    }
}

//! Whether a talk is worth keeping (DECISIONS §5, `detect_discard`). Unsure keeps.

use std::collections::BTreeSet;

use records::Talk;
use stages::Verdict;

use super::lexicon::{FILLERS, MIC_TEST};
use super::text::{content_stems, sentences, words};
use super::{apps, dates::Reference, items, memories};

/// Longer talk is kept unread.
const LONG: usize = 100;
const FEWEST_WORDS: usize = 6;
const FEWEST_STEMS: usize = 4;
/// In languages whose words we do not know, only next to nothing is discarded.
const FEWEST_FOREIGN_WORDS: usize = 3;

/// The verdict on `talk`.
pub(super) fn judge(talk: &Talk) -> Verdict {
    let all: Vec<String> = talk.lines.iter().flat_map(|line| words(&line.text).collect::<Vec<_>>()).collect();
    if all.is_empty() {
        return Verdict::Discard;
    }
    if all.len() > LONG {
        return Verdict::Keep;
    }
    if !super::is_english(talk) {
        return if all.len() < FEWEST_FOREIGN_WORDS { Verdict::Discard } else { Verdict::Keep };
    }
    let noise = is_mic_test(&all) || all.iter().all(|word| FILLERS.contains(&word.as_str()));
    if !noise && holds_something(talk) {
        return Verdict::Keep;
    }
    if noise || all.len() < FEWEST_WORDS || distinct_stems(talk) < FEWEST_STEMS {
        Verdict::Discard
    } else {
        Verdict::Keep
    }
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
fn holds_something(talk: &Talk) -> bool {
    let reference = Reference::of(talk);
    let dated =
        |text: &str| reference.find(text).iter().any(|date| date.precise && reference.moment(date).is_some());
    let sentences = sentences(talk);
    sentences.iter().any(|sentence| {
        (dated(&sentence.text) && !content_stems(&sentence.text).is_empty())
            || apps::is_decision(&sentence.text)
    }) || !items::extract(talk).is_empty()
        || memories::any(talk)
}

#[cfg(test)]
mod tests {
    use super::super::tests::talk;
    use super::*;

    #[test]
    fn short_talk_that_holds_something_is_kept() {
        for kept in
            ["Buy milk tomorrow", "I'm allergic to nuts.", "We decided to cancel.", "Dentist on December 3rd"]
        {
            assert_eq!(judge(&talk(kept)), Verdict::Keep, "{kept}");
        }
    }

    #[test]
    fn noise_is_discarded() {
        for noise in [
            "",
            "Uh.",
            "Hello hello, test one two",
            "Okay. Yeah, right. Well, okay then, bye bye.",
            "Hm so yeah",
        ] {
            assert_eq!(judge(&talk(noise)), Verdict::Discard, "{noise}");
        }
    }

    #[test]
    fn unknown_languages_are_kept_unless_there_is_next_to_nothing() {
        let mut foreign = talk("Wir treffen uns morgen");
        foreign.language = "de".to_owned();
        assert_eq!(judge(&foreign), Verdict::Keep);
    }
}

//! Reported speech: who talked about what, and sentences rewritten in the third person.

use std::sync::LazyLock;

use regex::Captures;

use super::lexicon::{is_advice_verb, is_person, is_stop_word, is_task_verb};
use super::pattern::Pattern;
use super::phrases::{Phrase, names};
use super::text::{Sentence, capitalised, decapitalised, pattern, third_person};

/// "Mo and Jule talk about the meter and the heating bill."; `None` where fewer than two speakers are known.
pub(super) fn subject(sentences: &[Sentence<'_>], topics: &[Phrase]) -> Option<String> {
    let mut speakers: Vec<&str> = Vec::new();
    for speaker in sentences.iter().filter_map(|sentence| sentence.speaker) {
        if !speakers.contains(&speaker) {
            speakers.push(speaker);
        }
    }
    if speakers.len() < 2 || topics.is_empty() {
        return None;
    }
    let names: Option<Vec<String>> = speakers.iter().map(|label| name(label)).collect();
    let who = match names.filter(|names| names.len() <= NAMED) {
        Some(names) => joined(&names),
        None => {
            let count = COUNTS.get(speakers.len()).copied().unwrap_or("Many");
            format!("{count} people")
        }
    };
    let topics: Vec<String> = topics.iter().map(|topic| determined(topic, sentences)).collect();
    Some(format!("{who} talk about {}.", joined(&topics)))
}

/// More speakers are counted and not named.
const NAMED: usize = 3;
const COUNTS: &[&str] = &[
    "No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten", "Eleven", "Twelve",
];

/// The label as a name ("Mo") or as a role ("The customer"); `None` for `SPEAKER_00` and the like.
fn name(label: &str) -> Option<String> {
    let known = !label.contains(|c: char| c.is_ascii_digit() || c == '_')
        && !label.to_lowercase().starts_with("speaker")
        && !is_stop_word(&label.to_lowercase());
    // "The customer".
    let role = is_person(&label.to_lowercase());
    known.then(|| if role { format!("The {}", label.to_lowercase()) } else { capitalised(label) })
}

/// "A", "A and B", "A, B and C".
fn joined(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [one] => one.clone(),
        [first, rest @ .., last] => {
            let rest: String = rest.iter().map(|part| format!(", {}", within(part))).collect();
            format!("{first}{rest} and {}", within(last))
        }
    }
}

/// "The customer", where it does not begin a sentence.
fn within(who: &str) -> String {
    if who.starts_with("The ") { decapitalised(who) } else { who.to_owned() }
}

/// A topic with the article that it was said with: of "my flight" it is "the flight".
fn determined(topic: &Phrase, sentences: &[Sentence<'_>]) -> String {
    let phrase = topic.text.to_lowercase();
    let said: Vec<String> =
        sentences.iter().map(|sentence| format!(" {}", sentence.text.to_lowercase())).collect();
    // "A French version" is no French.
    let led = |lead: &str| {
        let led = format!(" {lead} {phrase}");
        said.iter().any(|text| text.match_indices(&led).any(|(at, _)| ends_here(text, at + led.len())))
    };
    if ["the", "my", "our", "your", "his", "her", "their", "this", "that"].into_iter().any(led) {
        return format!("the {}", topic.text);
    }
    let article = ["a", "an"].into_iter().find(|article| led(article));
    article.map_or_else(|| topic.text.clone(), |article| format!("{article} {}", topic.text))
}

/// Whether the noun phrase ends at byte `at`, and no further noun follows.
fn ends_here(text: &str, at: usize) -> bool {
    let rest = text.get(at..).unwrap_or_default();
    let next = rest.strip_prefix(' ').unwrap_or_default();
    let next = next.split(|c: char| !c.is_alphanumeric() && c != '\'').next().unwrap_or_default();
    !rest.starts_with(char::is_alphanumeric) && !is_noun_after(next)
}

/// Whether a word right behind a noun goes on with its phrase.
fn is_noun_after(next: &str) -> bool {
    !next.is_empty() && names(next)
}

static LISTENER: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:you|your|yours|yourself|you're|you'll|you've|you'd|let's|please|thanks|thank|hello|hi|sorry|bye)\b",
    )
});
static SPEAKER: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:i'm|i've|i'll|i'd|i|me|my|mine's|mine|myself|we're|we've|we'll|we'd|we|us|ours|our|ourselves)\b",
    )
});
/// The speaker as the subject, and the verb, which agrees.
static ACTS: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"^I(?P<short>'m|'ve|'ll|'d)?(?:\s+(?P<verb>am|have|was|had|will|can|can't|could|would|should|must|did|didn't|went|got|saw|told|thought|won't|need|want|think|live|work|like|love|hate|know|hope|play|feel|haven't|don't|\p{Ll}{2,}ed))?\b(?P<rest>.*)$",
    )
});

/// A verb that states something: without one it is a fragment of talk.
static STATES: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:is|are|was|were|am|has|have|had|will|would|can|could|should|must|does|did|isn't|aren't|wasn't|doesn't|didn't|can't|won't|\p{L}+'(?:s|re|ve|ll|d|m))\b|\b\p{L}{2,}(?:[^s\W]s|ed)\s",
    )
});
/// What begins a question that a recognizer wrote without its mark.
static ASKS: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?:is|are|was|were|do|does|did|can|could|would|will|shall|should|may|have|has|what|when|where|who|why|how|which)\b|\b(?:can|could|would)\s+(?:someone|somebody|anyone)\b",
    )
});
/// The start of a sentence that makes no sense without the one before it.
static LEANS: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?:it|it's|it'd|it'll|he|he's|he'll|she|she's|she'll|that|that's|this|these|those|his|her|him|if|when|at|nah|here|not|only|just|because|than|as|no|yes)\b",
    )
});

/// Calls those who speak and whose names are not known "one of them" and "another".
#[derive(Default)]
pub(super) struct Tellers<'t> {
    unnamed: Vec<&'t str>,
}

impl<'t> Tellers<'t> {
    /// What the speaker of `sentence` is called.
    pub(super) fn teller(&mut self, sentence: &Sentence<'t>) -> String {
        let known = sentence.speaker.and_then(name);
        let label = sentence.speaker.unwrap_or_default();
        if let Some(name) = known {
            return name;
        }
        if sentence.is_user {
            return "The user".to_owned();
        }
        let at = self.unnamed.iter().position(|known| *known == label).unwrap_or_else(|| {
            self.unnamed.push(label);
            self.unnamed.len() - 1
        });
        ["One of them", "Another", "A third"].get(at).copied().unwrap_or("One more").to_owned()
    }
}

/// `text` without an order that ends it: "I'm vegan, so write it on the board".
fn without_order(text: &str) -> String {
    let orders = |part: &str| {
        let mut words = part.split(' ').skip_while(|word| matches!(*word, "so" | "and" | "then" | "just"));
        let first = words.next().unwrap_or_default().to_lowercase();
        is_task_verb(&first) || matches!(first.as_str(), "make" | "don't" | "let" | "go")
    };
    let kept: Vec<&str> = text
        .split(", ")
        .enumerate()
        .take_while(|(at, part)| *at == 0 || !orders(part))
        .map(|(_, part)| part)
        .collect();
    let kept = kept.join(", ");
    if kept.len() == text.len() { kept } else { format!("{kept}.") }
}

/// Rewrites `text`, which `who` said, in the third person. `None`: it is a question, an order, addressed to a listener, or incomplete.
pub(super) fn in_third_person(text: &str, who: impl FnOnce() -> String) -> Option<String> {
    let text = &without_order(text);
    let first = text.split([' ', ',']).next().unwrap_or_default().to_lowercase();
    let states =
        STATES.is_match(text) && !ASKS.is_match(text) && !LEANS.is_match(text) && !text.ends_with('?');
    if !states
        || LISTENER.is_match(text)
        || is_task_verb(&first)
        || is_advice_verb(&first)
        || first == "don't"
    {
        return None;
    }
    let Some(found) = ACTS.captures(text) else {
        // "That's what I need": whose need, the sentence does not say.
        let plural = PLURAL.replace_all(text, |found: &Captures<'_>| plural(&found[0]));
        return (!SPEAKER.is_match(&plural)).then(|| plural.into_owned());
    };
    let auxiliary = found.name("short").map(|short| match short.as_str() {
        "'m" => "is",
        "'ve" => "has",
        "'ll" => "will",
        _ => "would",
    });
    let verb = match (auxiliary, found.name("verb").map(|verb| verb.as_str())) {
        (Some(auxiliary), Some(verb)) => format!("{auxiliary} {verb}"),
        (Some(auxiliary), None) => auxiliary.to_owned(),
        (None, Some("am")) => "is".to_owned(),
        (None, Some("haven't")) => "hasn't".to_owned(),
        (None, Some("don't")) => "doesn't".to_owned(),
        (
            None,
            Some(
                verb @ ("have" | "need" | "want" | "think" | "live" | "work" | "like" | "love" | "hate"
                | "know" | "hope" | "play" | "feel"),
            ),
        ) => third_person(verb),
        (None, Some(verb)) => verb.to_owned(),
        (None, None) => return None,
    };
    let rest = of_others(&found["rest"]);
    Some(format!("{} {verb}{rest}", who()))
}

static PLURAL: LazyLock<Pattern> =
    LazyLock::new(|| pattern(r"(?i)\b(?:we're|we've|we'll|we'd|we|us|ours|our|ourselves)\b"));

/// The words of a task without "me" and "my".
pub(super) fn of_others(task: &str) -> String {
    let told = SPEAKER.replace_all(task, |found: &Captures<'_>| plural(&found[0]));
    told.replace("they was ", "they were ").replace("they am ", "they are ")
}

/// "We" is "they", as is "I" where it was named before.
fn plural(word: &str) -> String {
    let told = match word.to_lowercase().as_str() {
        "we're" | "i'm" => "they're",
        "we've" | "i've" => "they've",
        "we'll" | "i'll" => "they'll",
        "we'd" | "i'd" => "they'd",
        "us" | "me" => "them",
        "our" | "my" => "their",
        "mine's" => "theirs is",
        "ours" | "mine" => "theirs",
        "ourselves" | "myself" => "themselves",
        _ => "they",
    };
    if word.starts_with('W') || word.starts_with("Our") { capitalised(told) } else { told.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(text: &str, speaker: Option<&str>) -> Option<String> {
        let sentence = Sentence { text: text.to_owned(), speaker, is_user: false, line: 0 };
        in_third_person(text, || Tellers::default().teller(&sentence))
    }

    #[test]
    fn speakers_are_told_of_in_the_third_person() {
        for (said, speaker, written) in [
            ("We've got a boat now, we live on it.", None, Some("They've got a boat now, they live on it.")),
            ("I'm training to be a nurse.", Some("mo"), Some("Mo is training to be a nurse.")),
            ("I need my coat.", Some("SPEAKER_00"), Some("One of them needs their coat.")),
            ("The pool closes on Monday.", None, Some("The pool closes on Monday.")),
            ("Can you call me?", Some("mo"), None),
            ("Send it over.", Some("mo"), None),
            ("That's what I meant.", Some("mo"), None),
            ("Ninety seated.", Some("mo"), None),
            ("I can't, I'm away.", Some("Customer"), Some("The customer can't, they're away.")),
            ("I've had it since I was ten.", Some("mo"), Some("Mo has had it since they were ten.")),
            ("I'm vegan, so write it on the board.", Some("mo"), Some("Mo is vegan.")),
        ] {
            assert_eq!(rewritten(said, speaker).as_deref(), written, "{said}");
        }
    }
}

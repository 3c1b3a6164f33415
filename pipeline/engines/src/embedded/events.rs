//! Events: a noun of something that takes place, and a date ahead of it in the same sentence.

use std::sync::LazyLock;

use chrono::NaiveDate;
use records::Talk;
use regex::Match;
use stages::EventDraft;

use super::dates::{DayOrder, Found, Reference};
use super::lexicon::{AMBIGUOUS_EVENT_NOUNS, EVENT_NOUNS, is_stop_word, is_task_verb};
use super::pattern::Pattern;
use super::planted::without_orders;
use super::text::{Sentence, capitalised, pattern, sentences};

/// Minutes, when no length is said (DECISIONS §1).
const DURATION: i32 = 30;
/// More than these are a calendar being read out.
const MOST: usize = 10;

static NOUN: LazyLock<Pattern> =
    LazyLock::new(|| pattern(&format!(r"(?i)\b(?:{})s?\b", EVENT_NOUNS.join("|"))));
/// What does not take place: denied, or only wondered about.
static UNREAL: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:cancel(?:led|ed)?|called off|expires?|expired|runs out|won't (?:be|happen|take place)|no longer|isn't|would have|if only|instead of the)\b",
    )
});
/// "We meet again on Tuesday" names no noun.
static GATHERING: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)\bwe(?:'ll|\s+will|'re\s+going\s+to|\s+are\s+going\s+to|\s+should)?\s+(?:all\s+)?meet(?:ing)?\b(?:\s+(?:again|up))?",
    )
});
/// "Doctor Hale can see you on Tuesday".
static SEES: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?P<who>(?:(?:Doctor|Dr\.?|Professor|Mr\.?|Ms\.?|Mrs\.?)\s\p{Lu}[\p{L}-]+|the\s(?:doctor|dentist|physio|consultant|lawyer|vet|nurse)))\s+(?:can|will|could|is\s+going\s+to)\s+see\s+(?:you|me|us|him|her|them)\b",
    )
});
static LENGTH: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:for|lasts?|takes?)\s+(?:about\s+)?(?P<n>an?|half\s+an|one|two|three|four|\d+)\s+(?P<unit>hours?|minutes?)\b",
    )
});

/// The events of `talk`, in order, one per noun and day.
pub(super) fn extract(talk: &Talk, order: DayOrder) -> Vec<EventDraft> {
    let reference = Reference::of(talk, order);
    let mut events: Vec<(NaiveDate, EventDraft)> = Vec::new();
    for sentence in without_orders(sentences(talk)) {
        let Some((day, event)) = of_sentence(&sentence, &reference) else { continue };
        let known = |(other, known): &(NaiveDate, EventDraft)| {
            *other == day && same_title(&known.title, &event.title)
        };
        if events.len() < MOST && !events.iter().any(known) {
            events.push((day, event));
        }
    }
    events.into_iter().map(|(_, event)| event).collect()
}

/// The last word names the event; the same event may be said with more or fewer words.
fn same_title(one: &str, other: &str) -> bool {
    let last = |title: &str| title.rsplit(' ').next().map(str::to_lowercase);
    last(one) == last(other)
}

fn of_sentence(sentence: &Sentence<'_>, reference: &Reference) -> Option<(NaiveDate, EventDraft)> {
    if UNREAL.is_match(&sentence.text) {
        return None;
    }
    let dates = reference.find(&sentence.text);
    let (date, start) = dates
        .iter()
        .filter(|date| date.precise && !date.deadline)
        .find_map(|date| reference.moment(date).map(|moment| (date, moment)))?;
    let title = title(&sentence.text, date).or_else(|| unnamed(&sentence.text))?;
    let description = sentence.text.clone();
    Some((start.date_naive(), EventDraft { title, description, start, duration: duration(&sentence.text) }))
}

/// The title of an event that no noun names.
fn unnamed(text: &str) -> Option<String> {
    if let Some(found) = SEES.captures(text) {
        return Some(format!("Appointment with {}", &found["who"]));
    }
    GATHERING.is_match(text).then(|| "Meeting".to_owned())
}

/// The event noun that stands nearest before the date, else the first after it, with the words that describe it.
fn title(text: &str, date: &Found) -> Option<String> {
    let at = date.spans.first()?.start;
    let nouns: Vec<_> = NOUN.find_iter(text).filter(|noun| is_event(text, noun)).collect();
    let noun = nouns.iter().rev().find(|noun| noun.end() <= at).or_else(|| nouns.first())?;
    let mut words: Vec<&str> = describing(text.get(..noun.start())?);
    words.push(noun.as_str());
    Some(capitalised(&words.join(" ")))
}

/// Up to two words right before the noun that describe it.
fn describing(before: &str) -> Vec<&str> {
    if !before.ends_with(' ') {
        return Vec::new();
    }
    let last: Vec<&str> = before.split_whitespace().rev().take(3).collect();
    let pairs = last.iter().copied().zip(last.iter().copied().skip(1).map(Some).chain([None]));
    let describing = pairs.take(2).take_while(|(word, before)| is_describing(word, *before));
    let mut words: Vec<&str> = describing.map(|(word, _)| word).collect();
    words.reverse();
    words
}

/// Whether `word` describes the noun after it; "design" and "review" do when a determiner stands before them.
fn is_describing(word: &str, before: Option<&str>) -> bool {
    let lower = word.to_lowercase();
    let clean = word.chars().all(|c| c.is_alphanumeric() || c == '-' || c == '\'') && !is_stop_word(&lower);
    clean && (!is_task_verb(&lower) || before.is_some_and(is_determiner))
}

fn is_determiner(word: &str) -> bool {
    let word = word.to_lowercase();
    let listed = matches!(
        word.as_str(),
        "the"
            | "a"
            | "an"
            | "my"
            | "your"
            | "our"
            | "his"
            | "her"
            | "their"
            | "this"
            | "that"
            | "next"
            | "another"
            | "first"
            | "final"
            | "last"
    );
    listed || word.ends_with("'s")
}

/// Not "the meeting room", and of "call" and its like only the noun.
fn is_event(text: &str, noun: &Match<'_>) -> bool {
    let (Some(before), Some(after)) = (text.get(..noun.start()), text.get(noun.end()..)) else {
        return false;
    };
    let after = after.split_whitespace().next().unwrap_or_default().to_lowercase();
    if matches!(
        after.trim_end_matches(['.', ',', '?', '!']),
        "room"
            | "notes"
            | "cake"
            | "dress"
            | "present"
            | "gift"
            | "ticket"
            | "tickets"
            | "card"
            | "table"
            | "fee"
            | "bill"
    ) {
        return false;
    }
    // Ambiguous nouns count in the singular alone: "he calls" is a verb.
    let noun = noun.as_str().to_lowercase();
    let noun = noun.strip_suffix('s').unwrap_or(&noun).to_owned();
    if !AMBIGUOUS_EVENT_NOUNS.contains(&noun.as_str()) {
        return true;
    }
    let mut before = before.split_whitespace().rev();
    let Some(last) = before.next() else { return false };
    is_determiner(last) || (last.len() > 2 && is_describing(last, before.next()))
}

fn duration(text: &str) -> i32 {
    let Some(found) = LENGTH.captures(text) else { return DURATION };
    let (number, unit) = (found["n"].to_lowercase(), &found["unit"]);
    let hours = unit.to_lowercase().starts_with("hour");
    let count = match number.as_str() {
        "a" | "an" | "one" => 1,
        "two" => 2,
        "three" => 3,
        "four" => 4,
        half if half.starts_with("half") => return DURATION,
        digits => digits.parse().unwrap_or(0),
    };
    match if hours { 60 * count } else { count } {
        minutes @ 1..=1440 => minutes,
        _ => DURATION,
    }
}

//! Whether two action items, or two memories, say the same thing.
//!
//! The objects of tasks are compared: every string distance that was tried merges look-alikes. A wrong merge
//! loses a task, so in doubt two tasks are two. `corpus/same_tasks.txt` is what it is scored on.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use chrono::NaiveDate;
use chrono_tz::Tz;
use records::{Talk, Timestamp};
use regex::Regex;

use super::dates::{DayOrder, Found, Reference};
use super::lexicon::{SYNONYMS, is_stop_word};
use super::text::{pattern, stem, words};

/// When both sides say something that the other does not, this share of all must be common.
const SHARED: f64 = 0.75;
/// Facts are short, and one more word is another subject: "lives", "sister lives".
const SHARED_OF_FACTS: f64 = 0.8;

static NEGATION: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"(?i)\b(?:not|never|no longer|no|without|cancel\w*|\w+n't|stop(?:ped|s)?|quit)\b")
});

/// The same task: verbs that mean the same, equal numbers, no two days, one head of the object ("the reminder for
/// the invoice" is no invoice), and an object that contains the other's.
pub(super) fn same_task(one: &str, other: &str) -> bool {
    let (one, other) = (Task::read(one), Task::read(other));
    one.negative == other.negative
        && one.numbers == other.numbers
        && verbs_agree(&one.verb, &other.verb)
        && (one.days.is_empty() || other.days.is_empty() || one.days == other.days)
        && heads_agree(&one, &other)
        && one.objects_agree(&other)
}

/// The same fact: the same subject and words up to [`SHARED_OF_FACTS`], equal numbers, both or neither denied.
pub(super) fn same_fact(one: &str, other: &str) -> bool {
    let (a, b) = (fact_stems(one), fact_stems(other));
    NEGATION.is_match(one) == NEGATION.is_match(other)
        && numbers(one) == numbers(other)
        && !a.is_empty()
        && jaccard(&a, &b) >= SHARED_OF_FACTS
}

struct Task {
    verb: String,
    object: BTreeSet<String>,
    numbers: BTreeSet<String>,
    /// The word that the object is a kind of, and who has it.
    head: Option<(String, bool)>,
    /// The days that the task names, if any.
    days: BTreeSet<NaiveDate>,
    negative: bool,
}

impl Task {
    fn read(text: &str) -> Self {
        let (undated, days) = without_dates(text);
        let mut words =
            words(&undated).skip_while(|word| matches!(word.as_str(), "please" | "also" | "then" | "to"));
        let verb = words.next().unwrap_or_default();
        let object = words.filter(|word| !is_function_word(word)).map(|word| stem(&word)).collect();
        Self {
            head: head(&undated),
            verb,
            object,
            numbers: numbers(&undated),
            days,
            negative: NEGATION.is_match(text),
        }
    }

    fn objects_agree(&self, other: &Self) -> bool {
        let (a, b) = (&self.object, &other.object);
        if a.is_empty() || b.is_empty() {
            return a == b && self.verb == other.verb;
        }
        a.is_subset(b) || b.is_subset(a) || jaccard(a, b) >= SHARED
    }
}

/// Equal, or in one group of synonyms.
fn verbs_agree(one: &str, other: &str) -> bool {
    let same_group = |group: &&[&str]| group.contains(&one) && group.contains(&other);
    stem(one) == stem(other) || SYNONYMS.iter().any(same_group)
}

fn jaccard(a: &BTreeSet<String>, b: &BTreeSet<String>) -> f64 {
    let shared = a.intersection(b).count();
    let all = a.len() + b.len() - shared;
    if all == 0 { 0.0 } else { shared as f64 / all as f64 }
}

/// Facts keep their verbs and their subject: "User lives in Porto" is not "User's sister lives in Porto".
fn fact_stems(text: &str) -> BTreeSet<String> {
    words(text).filter(|word| !is_function_word(word)).map(|word| stem(&word)).collect()
}

/// Pronouns, articles and prepositions; ordinary verbs that `is_stop_word` holds too are not meant.
fn is_function_word(word: &str) -> bool {
    is_stop_word(word)
        && !matches!(
            word,
            "need"
                | "keep"
                | "love"
                | "like"
                | "old"
                | "new"
                | "second"
                | "first"
                | "before"
                | "after"
                | "help"
                | "last"
                | "next"
                | "other"
        )
}

/// Whether both objects are of one kind. A task without an object agrees with any; other rules decide.
fn heads_agree(one: &Task, other: &Task) -> bool {
    match (&one.head, &other.head) {
        (Some(one), Some(other)) => one == other,
        _ => true,
    }
}

/// The last word of the object before a preposition sets in, without what only says that it is a firm or a
/// place; and whether that is somebody's.
fn head(task: &str) -> Option<(String, bool)> {
    let mut head: Option<(String, bool)> = None;
    let mut owned = false;
    for word in
        words(task).skip_while(|word| matches!(word.as_str(), "please" | "also" | "then" | "to")).skip(1)
    {
        if head.is_some() && PREPOSITIONS.contains(&word.as_str()) {
            break;
        }
        let adds_nothing = is_function_word(&word) || head.is_some() && BODIES.contains(&word.as_str());
        if word.ends_with("'s") {
            owned = true;
        } else if !adds_nothing {
            head = Some((stem(&word), owned));
        }
    }
    head
}

const PREPOSITIONS: &[&str] = &[
    "for",
    "to",
    "of",
    "in",
    "on",
    "at",
    "from",
    "with",
    "about",
    "by",
    "into",
    "under",
    "without",
    "between",
    "before",
    "after",
    "regarding",
    "and",
    "because",
];
/// "The insurance company" is the insurance.
const BODIES: &[&str] =
    &["company", "office", "people", "team", "department", "firm", "guy", "place", "shop", "store"];

/// Numbers in digits, and those in words that say how many or which.
fn numbers(text: &str) -> BTreeSet<String> {
    const WORDS: [&str; 11] =
        ["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];
    let at = |word: &str| WORDS.iter().position(|known| *known == word).map(|at| (at + 2).to_string());
    words(text)
        .filter_map(|word| at(&word).or_else(|| word.chars().any(|c| c.is_ascii_digit()).then_some(word)))
        .collect()
}

/// Dates say when, not what: the text without them, and the days. Any reference serves, as days are compared
/// with each other alone.
fn without_dates(text: &str) -> (String, BTreeSet<NaiveDate>) {
    let Some(moment) = NaiveDate::from_ymd_opt(2000, 1, 3).and_then(|day| day.and_hms_opt(9, 0, 0)) else {
        return (text.to_owned(), BTreeSet::new());
    };
    let started_at: Timestamp = moment.and_utc();
    let talk = Talk {
        lines: Vec::new(),
        started_at,
        time_zone: Tz::UTC,
        language: "en".to_owned(),
        user_name: None,
        background: records::Background::default(),
    };
    let found = Reference::of(&talk, DayOrder::default()).find(text);
    let undated = found.iter().rev().fold(text.to_owned(), |text, date| date.removed_from(&text));
    (undated, found.iter().map(Found::day).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_task_in_other_words_is_the_same() {
        for (one, other) in [
            ("Send the revised budget to Maria", "Email Maria the revised budget by Friday"),
            ("Book the meeting room", "Reserve the meeting room for Tuesday"),
            ("Check the passports", "Check the passports tonight"),
            ("Call mom", "Call mom about the trip"),
            ("Renew the domain", "Please renew the domain before the end of the month"),
        ] {
            assert!(same_task(one, other), "{one} / {other}");
        }
    }

    #[test]
    fn look_alikes_stay_apart() {
        for (one, other) in [
            ("Pay invoice 1042", "Pay invoice 1043"),
            ("Book the flight to Rome", "Cancel the flight to Rome"),
            ("Call the bank", "Call the dentist"),
            ("Send the report to Tom", "Send the report to Anna"),
            ("Buy milk", "Sell the bike"),
            ("Review the contract", "Print the contract"),
            ("Do it", "Call Tom"),
        ] {
            assert!(!same_task(one, other), "{one} / {other}");
        }
    }

    #[test]
    fn facts_are_the_same_only_about_the_same_subject() {
        assert!(same_fact("User is allergic to penicillin", "The user is allergic to penicillin."));
        assert!(!same_fact("User lives in Porto", "User's sister lives in Porto"));
        assert!(!same_fact("User eats meat", "User doesn't eat meat"));
        assert!(!same_fact("User is allergic to nuts", "Leo is allergic to nuts"));
    }
}

//! Whether two action items, or two memories, say the same thing.
//!
//! The objects of tasks are compared: every string distance that was tried merges look-alikes. A wrong merge
//! loses a task, so in doubt two tasks are two. `corpus/same_tasks.txt` is what it is scored on.

mod known;
mod read;

use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

use chrono::NaiveDate;
use chrono_tz::Tz;
use records::{KnownTexts, Talk, Timestamp};

use super::dates::{DayOrder, Found, Reference};
use super::lexicon::{SYNONYMS, is_stop_word};
use super::pattern::Pattern;
use super::text::{pattern, stem, words};
use known::{KnownFacts, KnownTasks};
use read::Lately;

/// When both sides say something that the other does not, this share of all must be common.
const SHARED: f64 = 0.75;
/// Facts are short, and one more word is another subject: "lives", "sister lives".
const SHARED_OF_FACTS: f64 = 0.8;

static NEGATION: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(r"(?i)\b(?:not|never|no longer|no|without|cancel\w*|\w+n't|stop(?:ped|s)?|quit)\b")
});

/// Reads texts that will be compared.
pub(super) fn remember(tasks: &[String], facts: &[String]) {
    tasks.iter().for_each(|task| drop(Task::of(task)));
    facts.iter().for_each(|fact| drop(Fact::of(fact)));
}

/// An empty list of tasks.
pub(super) fn known_tasks() -> Box<dyn KnownTexts> {
    Box::<KnownTasks>::default()
}

/// An empty list of facts.
pub(super) fn known_facts() -> Box<dyn KnownTexts> {
    Box::<KnownFacts>::default()
}

static TASKS: LazyLock<Lately<Task>> = LazyLock::new(Lately::new);
static FACTS: LazyLock<Lately<Fact>> = LazyLock::new(Lately::new);

/// What an action item is compared by.
pub(super) struct Task {
    verb: String,
    verb_stem: String,
    object: BTreeSet<String>,
    numbers: BTreeSet<String>,
    /// The word that the object is a kind of, and who has it.
    head: Option<(String, bool)>,
    /// The days that the task names, if any.
    days: BTreeSet<NaiveDate>,
    negative: bool,
}

impl Task {
    /// What `text` is compared by; read once while the text is in use.
    pub(super) fn of(text: &str) -> Arc<Self> {
        TASKS.read(text, Self::read)
    }

    fn read(text: &str) -> Self {
        let (undated, days) = without_dates(text);
        let words: Vec<String> = words(&undated).collect();
        let mut acts =
            words.iter().skip_while(|word| matches!(word.as_str(), "please" | "also" | "then" | "to"));
        let verb = acts.next().cloned().unwrap_or_default();
        Self {
            verb_stem: stem(&verb),
            verb,
            head: head(acts.clone()),
            object: acts.filter(|word| !is_function_word(word)).map(|word| stem(word)).collect(),
            numbers: numbers(&words),
            days,
            negative: NEGATION.is_match(text),
        }
    }

    /// The same task: verbs that mean the same, equal numbers, no two days, one head of the object ("the reminder for
    /// the invoice" is no invoice), and an object that contains the other's.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.is_same_sharing(other, self.object.intersection(&other.object).count())
    }

    /// The same, of two whose objects share so many stems.
    fn is_same_sharing(&self, other: &Self, shared: usize) -> bool {
        self.objects_agree(other, shared)
            && self.negative == other.negative
            && self.numbers == other.numbers
            && (self.days.is_empty() || other.days.is_empty() || self.days == other.days)
            && heads_agree(self, other)
            && self.verbs_agree(other)
    }

    fn objects_agree(&self, other: &Self, shared: usize) -> bool {
        let (one, two) = (self.object.len(), other.object.len());
        if one == 0 || two == 0 {
            return one == two && self.verb == other.verb;
        }
        shared == one || shared == two || share_of_all(shared, one, two) >= SHARED
    }

    /// Equal, or in one group of synonyms.
    fn verbs_agree(&self, other: &Self) -> bool {
        let is_in = |group: &[&str], task: &Self| group.contains(&task.verb.as_str());
        self.verb_stem == other.verb_stem
            || SYNONYMS.iter().any(|group| is_in(group, self) && is_in(group, other))
    }
}

/// What a memory is compared by.
pub(super) struct Fact {
    stems: BTreeSet<String>,
    numbers: BTreeSet<String>,
    negative: bool,
}

impl Fact {
    /// What `text` is compared by; read once while the text is in use.
    fn of(text: &str) -> Arc<Self> {
        FACTS.read(text, Self::read)
    }

    fn read(text: &str) -> Self {
        let words: Vec<String> = words(text).collect();
        Self { numbers: numbers(&words), stems: fact_stems(&words), negative: NEGATION.is_match(text) }
    }

    /// The same fact, of two that share so many stems: the same subject and words up to [`SHARED_OF_FACTS`], equal
    /// numbers, both or neither denied.
    fn is_same_sharing(&self, other: &Self, shared: usize) -> bool {
        !self.stems.is_empty()
            && share_of_all(shared, self.stems.len(), other.stems.len()) >= SHARED_OF_FACTS
            && self.negative == other.negative
            && self.numbers == other.numbers
    }
}

/// Which part `shared` is of all stems that two sets of these sizes have together.
fn share_of_all(shared: usize, one: usize, other: usize) -> f64 {
    let all = one + other - shared;
    if all == 0 { 0.0 } else { shared as f64 / all as f64 }
}

/// Facts keep their verbs and their subject: "User lives in Porto" is not "User's sister lives in Porto".
fn fact_stems(words: &[String]) -> BTreeSet<String> {
    words.iter().filter(|word| !is_function_word(word)).map(|word| stem(word)).collect()
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

/// The last of the words behind the verb before a preposition sets in, without what only says that it is a firm or a
/// place; and whether that is somebody's.
fn head<'a>(words: impl Iterator<Item = &'a String>) -> Option<(String, bool)> {
    let mut head: Option<(&str, bool)> = None;
    let mut owned = false;
    for word in words {
        if head.is_some() && PREPOSITIONS.contains(&word.as_str()) {
            break;
        }
        let adds_nothing = is_function_word(word) || head.is_some() && BODIES.contains(&word.as_str());
        if word.ends_with("'s") {
            owned = true;
        } else if !adds_nothing {
            head = Some((word, owned));
        }
    }
    head.map(|(word, owned)| (stem(word), owned))
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
fn numbers(words: &[String]) -> BTreeSet<String> {
    const WORDS: [&str; 11] =
        ["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];
    let at = |word: &str| WORDS.iter().position(|known| *known == word).map(|at| (at + 2).to_string());
    let has_digit = |word: &str| word.contains(|c: char| c.is_ascii_digit());
    words.iter().filter_map(|word| at(word).or_else(|| has_digit(word).then(|| word.clone()))).collect()
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

    fn same_task(one: &str, other: &str) -> bool {
        let mut known = known_tasks();
        known.add(one);
        known.find(other).is_some()
    }

    fn same_fact(one: &str, other: &str) -> bool {
        let mut known = known_facts();
        known.add(one);
        known.find(other).is_some()
    }

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

//! Whether two action items, or two memories, say the same thing.
//!
//! The objects of tasks are compared: every string distance that was tried merges look-alikes. A wrong merge
//! loses a task, so unclear pairs stay two tasks. `corpus/same_tasks.txt` is what it is scored on.

mod as_said;
mod fact;
mod idioms;
mod known;
mod numbers;
mod objects;
mod plain;
mod read;
mod reworded;
mod taken_on;
mod undated;

use std::collections::{BTreeSet, HashSet};
use std::sync::{Arc, LazyLock};

use chrono::{NaiveDate, NaiveTime};
use records::KnownTexts;

use super::lexicon::{is_completive, is_contrast, is_person, kinds_of, meanings_of, one_noun};
use super::pattern::Pattern;
use super::text::{pattern, stem, words};
use fact::Fact;
use known::{KnownFacts, KnownTasks};
use numbers::{in_digits, numbers};
use objects::{head, is_preposition};
use read::Lately;
use undated::{Undated, without_dates};

/// What only says that it is to be done: "I need to", "don't forget to".
static LEAD: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^\W*(?:please\s+)?(?:(?:i|we|you)\s+)?(?:(?:still|also|really)\s+)?(?:(?:need|needs|have|has|got|want|ought|remember|remind me|(?:don't|do not|must not|mustn't) forget|try|make sure)\s+to|must|should|(?:i|we)'ll)\s+",
    )
});

/// What only begs, at the end.
static PLEASE: LazyLock<Pattern> =
    LazyLock::new(|| pattern(r"(?i)[,\s]+(?:please|thanks|asap|urgently)\W*$"));
/// Words that are said for others, and those.
static FOR_OTHERS: LazyLock<[(Pattern, &str); 6]> = LazyLock::new(|| {
    [
        (r"(?i)\bdouble[\s-]check", "check"),
        (r"(?i)\b(?:ahead\s+of|prior\s+to|in\s+advance\s+of)\b", "before"),
        (r"(?i)\b(?:re|regarding|concerning)\b:?", "about"),
        (r"(?i)\btonight\b", "this evening"),
        (r"(?i)\bxmas\b", "Christmas"),
        (r"(?i)\bthank-you\b", "thank you"),
    ]
    .map(|(words, other)| (pattern(words), other))
});

/// Of tasks, verbs that end something are compared as verbs.
static NOT: LazyLock<Pattern> =
    LazyLock::new(|| pattern(r"(?i)\b(?:not|never|no longer|no|without|\w+n't)\b"));

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

/// What an action item is compared by.
#[derive(Default)]
pub(super) struct Task {
    verb: String,
    verb_stem: String,
    object: BTreeSet<String>,
    numbers: BTreeSet<String>,
    /// The word that the object is a kind of.
    head: Option<String>,
    /// Whom and where it names: people and places, without weekdays.
    names: Vec<String>,
    /// Every word behind the verb, in small letters.
    said: BTreeSet<String>,
    /// Every word of the object counts: what is bought, where it is no certain thing ("milk", "oat milk"), and lists.
    exact: bool,
    /// The task is to tell or ask someone a whole sentence.
    told: bool,
    /// A noun that somebody is told or asked for: "the code word".
    told_thing: Option<String>,
    /// Who has it, where that is said with an apostrophe.
    owner: Option<String>,
    /// The days that the task names, if any, and the times of day.
    days: BTreeSet<NaiveDate>,
    times: Vec<NaiveTime>,
    /// Words that are in both or in neither of two tasks that are the same.
    contrasts: BTreeSet<String>,
    /// Words that may be missing in one, but not differ.
    kinds: BTreeSet<(usize, String)>,
    /// What "to" and "from" lead to.
    ends: [BTreeSet<String>; 2],
    negative: bool,
}

impl Task {
    /// What `text` is compared by; read once while the text is in use.
    pub(super) fn of(text: &str) -> Arc<Self> {
        TASKS.read(text, Self::read)
    }

    fn read(text: &str) -> Self {
        if let Some(said) = as_said::task(text) {
            return Self { object: BTreeSet::from([said]), exact: true, ..Self::default() };
        }
        let text = PLEASE.replace(text, "");
        let mut text = reworded::reworded(&LEAD.replace(&text, ""));
        for (words, other) in FOR_OTHERS.iter() {
            text = words.replace_all(&text, *other).into_owned();
        }
        let text = &*text;
        let Undated { text: undated, days, times } = without_dates(text);
        let plain::Plain { verb, mut rest, names, particle } = plain::plain(&undated);
        in_digits(&mut rest);
        // "Thursday's slides": the day is known.
        rest.retain(|word| {
            !(word.ends_with("'s") && !days.is_empty() && kinds_of(bare(word)).next().is_some())
        });
        let contrasts = contrasts(&rest).chain(particle).collect();
        let stems = |word: &String| {
            let bare = one_noun(bare(word));
            if names.contains(word) { bare.to_owned() } else { stem(bare) }
        };
        let (head, owner) = match rest.first() {
            // "Tell Hannah that the rehearsal is at six" is about Hannah, and so without "that".
            Some(whom) if is_telling(&verb) && names.contains(whom) && !whom.ends_with("'s") => {
                (Some(whom), None)
            }
            _ => head(rest.iter()),
        };
        Self {
            verb_stem: stem(&verb),
            head: head.map(stems),
            told_thing: told_thing(&verb, &rest, &names).map(stems),
            owner: owner.map(stems),
            object: rest.iter().filter(|word| !adds_nothing(word)).map(stems).collect(),
            names: named(&rest, &names),
            said: rest.iter().map(|word| one_noun(bare(word)).to_owned()).collect(),
            told: is_telling(&verb) && rest.iter().any(|word| BEGINS_A_CLAUSE.contains(&word.as_str())),
            exact: rest.iter().any(|word| word == "and")
                && !rest.iter().any(|word| matches!(word.as_str(), "it" | "them"))
                || meanings_of(&verb).iter().any(|meaning| meanings_of("buy").contains(meaning))
                    && !rest.iter().take_while(|word| !is_preposition(word)).any(|word| is_definite(word)),
            numbers: numbers(&rest),
            days,
            times,
            contrasts,
            kinds: words(text)
                // "Fill in" and "fill out" are verbs, and say no side.
                .filter(|word| !matches!(word.as_str(), "in" | "out" | "on" | "off") || rest.contains(word))
                .flat_map(|word| kinds_of(&word).map(|kind| (kind, word.clone())).collect::<Vec<_>>())
                .collect(),
            ends: ["to", "from"].map(|preposition| match verb.as_str() {
                // "Move the meeting to the morning", "to next week".
                "move" | "reschedule" | "shift" | "push back" => {
                    ends(&words(text).collect::<Vec<_>>(), preposition)
                }
                _ => ends(&rest, preposition),
            }),
            negative: NOT.is_match(text),
            verb,
        }
    }

    /// The same task: verbs that mean the same, equal numbers, no two days, one head of the object ("the reminder for
    /// the invoice" is no invoice), an object that contains the other's, and no word that sets one apart from the other.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.is_same_sharing(other, self.object.intersection(&other.object).count())
    }

    /// The same, of two whose objects share so many stems.
    fn is_same_sharing(&self, other: &Self, shared: usize) -> bool {
        self.objects_agree(other, shared)
            && self.negative == other.negative
            && self.numbers == other.numbers
            && self.names_agree(other)
            && (!(self.exact || other.exact) || self.object == other.object)
            && self.tells_the_same(other)
            && (self.days.is_empty() || other.days.is_empty() || self.days == other.days)
            && (self.times.is_empty() || other.times.is_empty() || self.times == other.times)
            && self.contrasts == other.contrasts
            && self.kinds_agree(other)
            && self.ends_agree(other)
            && self.heads_agree(other)
            && self.verbs_agree(other)
    }

    /// One contains the other: when both say something that the other does not, they are two tasks.
    fn objects_agree(&self, other: &Self, shared: usize) -> bool {
        let (one, two) = (self.object.len(), other.object.len());
        if one == 0 || two == 0 {
            return one == two && self.verb == other.verb;
        }
        shared == one || shared == two
    }

    /// "Tell Hannah that it is at six", "tell Hannah that it is cancelled": two, and each may be "tell Hannah". "Tell her the
    /// code" is not "tell her the code word".
    fn tells_the_same(&self, other: &Self) -> bool {
        if let (Some(thing), Some(other)) = (&self.told_thing, &other.told_thing)
            && thing != other
        {
            return false;
        }
        let either = self.told || other.told;
        !either || self.object == other.object || self.object.len().min(other.object.len()) == 1
    }

    fn kinds_agree(&self, other: &Self) -> bool {
        let agree = |one: &Self, other: &Self| {
            one.kinds.iter().all(|(kind, word)| {
                let of_kind = |(other, _): &&(usize, String)| other == kind;
                other.kinds.iter().filter(of_kind).count() == 0
                    || other.kinds.contains(&(*kind, word.clone()))
            })
        };
        agree(self, other) && agree(other, self)
    }

    /// Each says the people and places of the other, in small letters perhaps, and in one order where no preposition
    /// says who is who: "tell Anna that Ben is late".
    fn names_agree(&self, other: &Self) -> bool {
        let says = |one: &Self, other: &Self| other.names.iter().all(|name| one.said.contains(name));
        let led = |task: &Self| task.owner.is_some() || task.ends.iter().any(|end| !end.is_empty());
        let swapped = self.names.len() == other.names.len() && self.names != other.names;
        says(self, other) && says(other, self) && (!swapped || led(self) || led(other))
    }

    /// Not to where the other one comes from.
    fn ends_agree(&self, other: &Self) -> bool {
        let [to, from] = &self.ends;
        let [their_to, their_from] = &other.ends;
        let same = |one: &BTreeSet<String>, other: &BTreeSet<String>| {
            one.is_empty() || other.is_empty() || !one.is_disjoint(other)
        };
        to.is_disjoint(their_from)
            && from.is_disjoint(their_to)
            && same(to, their_to)
            && same(from, their_from)
    }

    /// Whether both objects are of one kind, and of one owner. A task without an object agrees with any; other rules
    /// decide.
    fn heads_agree(&self, other: &Self) -> bool {
        let owns =
            |owner: &Option<String>, of: &Self| owner.as_ref().is_none_or(|owner| of.object.contains(owner));
        match (&self.head, &other.head) {
            (Some(one), Some(two)) => {
                let one_owner = self.owner.is_none() || other.owner.is_none() || self.owner == other.owner;
                one == two && one_owner && owns(&self.owner, other) && owns(&other.owner, self)
            }
            _ => true,
        }
    }

    /// Equal, or in one group of synonyms.
    fn verbs_agree(&self, other: &Self) -> bool {
        let theirs = meanings_of(&other.verb);
        // "Wrap up" may be "finish", and "wrap".
        let same = |one: &Self, other: &Self| {
            is_completive(&one.verb) && one.verb.split(' ').next() == Some(&other.verb)
        };
        self.verb_stem == other.verb_stem
            || same(self, other)
            || same(other, self)
            || meanings_of(&self.verb).iter().any(|meaning| theirs.contains(meaning))
    }
}

/// Words with which a clause begins, or that only a clause has: "tell Ruth *that* it *is* cancelled".
const BEGINS_A_CLAUSE: &[&str] = &[
    "that", "whether", "if", "is", "are", "was", "were", "has", "have", "had", "will", "can", "isn't",
    "aren't", "won't", "can't",
];

/// Whether `verb` tells or asks a person something.
fn is_telling(verb: &str) -> bool {
    matches!(verb, "tell" | "inform" | "notify" | "remind" | "ask" | "let know" | "chase" | "nudge" | "warn")
}

/// The last word of "the code word" in "tell Ruth the code word": a name, an article and a short noun, without a clause.
fn told_thing<'r>(verb: &str, rest: &'r [String], names: &[String]) -> Option<&'r String> {
    let [whom, article, thing @ ..] = rest else { return None };
    let is_clause = |word: &String| is_preposition(word) || BEGINS_A_CLAUSE.contains(&word.as_str());
    let is_thing = is_telling(verb) && names.contains(whom) && is_definite(article) && thing.len() <= 3;
    let last = thing.iter().rfind(|word| !adds_nothing(word));
    last.filter(|_| is_thing && !rest.iter().skip(1).any(is_clause))
}

/// Shows that one certain thing is meant.
fn is_definite(word: &str) -> bool {
    matches!(word, "the" | "this" | "that" | "these" | "those" | "my" | "our" | "your")
        || word.ends_with("'s")
}

/// A word without the apostrophe of its owner.
fn bare(word: &str) -> &str {
    word.strip_suffix("'s").unwrap_or(word)
}

/// The people and places among the words behind the verb; `names` were written with a capital.
fn named(rest: &[String], names: &[String]) -> Vec<String> {
    let names: Vec<&str> = names.iter().map(|name| bare(name)).collect();
    rest.iter()
        .map(|word| bare(word))
        .filter(|word| (names.contains(word) || is_person(word)) && kinds_of(word).next().is_none())
        .map(|word| one_noun(word).to_owned())
        .collect()
}

/// The words that set a task apart. "Out of" and "in" before a noun say where; as the last word they say which way.
fn contrasts(rest: &[String]) -> impl Iterator<Item = String> + '_ {
    rest.iter()
        .enumerate()
        .filter(|(at, word)| {
            let next = rest.get(at + 1).map_or("", String::as_str);
            match word.as_str() {
                "in" => false,
                "out" | "off" | "down" | "up" | "over" | "back" => true,
                "return" => {
                    at.checked_sub(1).and_then(|at| rest.get(at)).is_none_or(|before| before != "and")
                }
                _ => {
                    is_contrast(word)
                        && !(word.as_str() == "right" && matches!(next, "away" | "now" | "after"))
                }
            }
        })
        .map(|(_, word)| word.clone())
}

/// The words that a preposition leads to, articles left out; "into" leads where "to" does.
fn ends(words: &[String], preposition: &str) -> BTreeSet<String> {
    let leads = |word: &str| word == preposition || preposition == "to" && word == "into";
    let at = words.iter().enumerate().filter(|(_, word)| leads(word));
    at.filter_map(|(at, _)| words.iter().skip(at + 1).find(|word| !adds_nothing(word)))
        .map(|word| stem(word))
        .collect()
}

/// Words without which a task is the same: articles, pronouns, prepositions, and what says how soon or how much of one
/// thing. Any other word may set two tasks apart, small ones ("little", "best") too.
fn adds_nothing(word: &str) -> bool {
    ADDS_NOTHING.contains(word)
}

static ADDS_NOTHING: LazyLock<HashSet<&'static str>> = LazyLock::new(|| {
    "a an the new this that these those some any all more every each my your our his her their its i you we they he she it me us \
     him them who which what to for of in on at by from with about into onto as via regarding concerning through between \
     during per and or but so if then also please just now soon today tonight tomorrow again still already maybe really \
     finally quickly too up be is are was were has have had do does will would can could should must get got need needs \
     there here s sure ahead asap possible least thing things stuff along together there'll we'll i'll who's whose when where why how whether"
        .split_whitespace()
        .collect()
});

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether the second is found again where the first is known.
    pub(super) fn same_task(one: &str, other: &str) -> bool {
        let mut known = known_tasks();
        known.add(one);
        known.find(other).is_some()
    }

    /// The same of facts.
    pub(super) fn same_fact(one: &str, other: &str) -> bool {
        let mut known = known_facts();
        known.add(one);
        known.find(other).is_some()
    }

    #[test]
    fn one_task_in_other_words_is_the_same() {
        for (one, other) in [
            ("Send the revised budget to Maria", "Email Maria the revised budget by Friday"),
            ("Send the budget to Maria", "send the budget to maria"),
            ("Book the meeting room", "Reserve the meeting room for Tuesday"),
            ("Check the passports", "Check the passports tonight"),
            ("Call mom", "Call mom about the trip"),
            ("Renew the domain", "Please renew the domain before the end of the month"),
            ("Tell Ruth the news", "Tell Ruth the good news again"),
            ("Tell Ruth the office has moved", "Tell Ruth the office moved"),
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
            ("Tell Ruth the code", "Tell Ruth the code word"),
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

//! Action items: what a speaker took on, was asked for, or was ordered to do.
//!
//! Rules read clear, addressed language well and spontaneous talk among many badly; where a rule is
//! is unsure it stays silent.

mod filters;
mod kept;
mod requests;
mod statements;
mod wording;

use std::sync::LazyLock;

use records::Talk;
use stages::ItemDraft;

use super::clauses::{self, Clause};
use super::dates::{DayOrder, Reference};
use super::events::{last_person, last_thing};
use super::lexicon::is_task_verb;
use super::planted::without_orders;
use super::text::{Sentence, pattern, sentences};
use crate::embedded::pattern::Pattern;
use kept::Kept;

/// A task that a clause claims, before its date is found.
#[derive(Clone, Debug)]
struct Claim {
    /// The words from the verb on.
    task: String,
    /// Who is to do it.
    owner: Option<String>,
    /// How it was said.
    force: Force,
}

/// How a task was put, which decides what else it must show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Force {
    /// "I'll", "I have to".
    Commitment,
    /// "Can you", "please", "don't forget to".
    Request,
    /// "We need to", "Jordan should", "the domain must be renewed".
    Obligation,
    /// "I want to": counts with a date, or about the speaker's own things.
    Wish,
    /// "Let's": counts with a date only.
    Suggestion,
    /// "Acme wants the proposal by Friday": counts with a deadline only.
    Demand,
    /// "Check the passports".
    Imperative,
}

/// The action items of `talk`, one per task, in the order in which they were first said.
pub(super) fn extract(talk: &Talk, order: DayOrder) -> Vec<ItemDraft> {
    let reference = Reference::of(talk, order);
    let mut items = Kept::default();
    let mut things = Things::default();
    for sentence in without_orders(sentences(talk)) {
        items.heard(&sentence);
        for item in of_sentence(&sentence, &things, &reference) {
            items.add(item, sentence.speaker);
        }
        things.heard(&sentence.text);
    }
    items.all
}

/// What `task` is called as a task, without its date; `None` when it says nothing to be done.
pub(super) fn description_of(task: &str, reference: &Reference) -> Option<String> {
    wording::description(task, false, reference)
}

/// The things that were named last, for "it".
#[derive(Default)]
struct Things {
    last: Option<String>,
    ago: usize,
    /// The person that was named last, for "him" and "her".
    person: Option<String>,
}

impl Things {
    fn heard(&mut self, sentence: &str) {
        self.ago += 1;
        let named = last_thing(sentence);
        if named.is_some() || self.ago > WITHIN_REACH {
            (self.last, self.ago) = (named, 0);
        }
        self.person = last_person(sentence).or(self.person.take());
    }
}

/// An item, and the verb of one that says "it" for its object.
struct Made {
    item: ItemDraft,
    refers: Option<String>,
    /// Only proposed: an item when somebody takes it on.
    proposed: bool,
}

fn of_sentence(sentence: &Sentence<'_>, objects: &Things, reference: &Reference) -> Vec<Made> {
    let mut items = Vec::new();
    let mut previous: Option<Claim> = None;
    let mut conditional = false;
    let mut opener = String::new();
    for mut clause in clauses::split(&sentence.text) {
        // After "for next week," or "yes please," an instruction begins, and the date before it is its own.
        clause.coordinated &= opener.is_empty() || previous.is_some();
        if !clause.coordinated && previous.is_some() {
            opener.clear();
        }
        let claim = claim(&clause, sentence, previous.as_ref());
        let stands =
            |claim: &Claim| !conditional || matches!(claim.force, Force::Request | Force::Imperative);
        let timed = format!("{opener} {}", clause.text);
        let item = claim.as_ref().filter(|claim| stands(claim)).and_then(|claim| {
            let before = sentence.text.find(clause.text).and_then(|at| sentence.text.get(..at));
            let thing = || before.and_then(last_thing).or_else(|| objects.last.clone());
            let thing = match claim.force {
                // Without a date it is mostly said once more, in full.
                Force::Request if reference.due(clause.text).is_some() => before.and_then(last_thing),
                Force::Commitment if !clause.coordinated => thing(),
                _ => None,
            };
            let person = last_person(before.unwrap_or_default()).or_else(|| objects.person.clone());
            let person = person.map(|person| {
                if person.starts_with(char::is_lowercase) { format!("the {person}") } else { person }
            });
            draft(claim, &timed, thing, person, reference)
        });
        conditional = clauses::is_condition(clause.text);
        // "This week: renew the card, sort out the loft": the opener is for all that a comma or "and" joins.
        if claim.is_none() {
            opener = Some(clause.text).filter(|text| OPENER.is_match(text)).unwrap_or_default().to_owned();
        }
        items.extend(item);
        previous = claim;
    }
    items
}

/// Words that open a sentence without a subject of their own.
static OPENER: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^\W*(?:(?:and|but|so|ok|okay|well|then)\W+)*(?:(?:for|on|by|before|after|until|in|at|from|first|over|during|next|this|tomorrow|today|tonight)(?:\s+[\p{L}\d:'-]+){0,5}|(?:yes|no|yeah|sure|ok|okay|great|good|fine|right|thanks|thank|please|perfect|alright|all|lovely|problem|thing|course|of|you|homework|ah|oh|aye|well|now|instead|also|finally|lastly|secondly|and)(?:\W+(?:yes|no|yeah|sure|ok|okay|great|good|fine|right|thanks|please|thank|you|problem|thing|all|then|idea|point|of|course|again))*)\W*$",
    )
});

/// What a clause claims: requests first, because "can you" is the clearest of all.
fn claim(clause: &Clause<'_>, sentence: &Sentence<'_>, previous: Option<&Claim>) -> Option<Claim> {
    let speaker = sentence.speaker.map(str::to_owned);
    let question = sentence.text.ends_with('?');
    requests::read(clause.text)
        .or_else(|| statements::read(clause.text, speaker, question))
        .or_else(|| requests::bare(clause.text, question))
        .or_else(|| requests::imperative(clause, question, previous))
}

fn draft(
    claim: &Claim,
    clause: &str,
    thing: Option<String>,
    person: Option<String>,
    reference: &Reference,
) -> Option<Made> {
    let due = reference.due(clause);
    let needed = match claim.force {
        Force::Suggestion => true,
        Force::Wish => due.is_some() || OF_MINE.is_match(&claim.task),
        Force::Demand => due.as_ref().is_some_and(|(date, _)| date.deadline),
        _ => true,
    };
    let refers = REFERRING.captures(&claim.task).map(|found| found["verb"].to_lowercase());
    let done = refers.as_deref() == Some("do");
    let task = match (&refers, thing) {
        (Some(verb), Some(thing))
            if !done && is_task_verb(verb) && !matches!(verb.as_str(), "tell" | "turn" | "try") =>
        {
            REFERRING.replace(&claim.task, format!("${{verb}} {thing}").as_str()).into_owned()
        }
        (None, _) if claim.force == Force::Commitment || due.is_some() => {
            match (person, TO_PERSON.captures(&claim.task)) {
                (Some(person), Some(found)) => TO_PERSON
                    .replace(&claim.task, format!("{}{person}", &found["verb"]).as_str())
                    .into_owned(),
                _ => claim.task.clone(),
            }
        }
        _ => claim.task.clone(),
    };
    // "Ring me back tomorrow": whom one is to call need not be named.
    let contact = due.is_some() && CONTACT.is_match(&task);
    if !needed || !done && !contact && !filters::is_task(&task, due.is_some()) {
        return None;
    }
    let description = if done { task } else { wording::description(&task, contact, reference)? };
    let due_at = due.map(|(_, moment)| moment);
    let proposed = claim.force == Force::Suggestion && due_at.is_none();
    let item = ItemDraft { description, owner: claim.owner.clone(), due_at, evidence: None };
    Some(Made { item, refers, proposed })
}

/// "Close my old account".
static OF_MINE: LazyLock<Pattern> = LazyLock::new(|| pattern(r"(?i)^\p{L}+\s+(?:my|our)\s"));

/// "Ring me back", "get back to him".
static CONTACT: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?:call|phone|ring|text|email|message|ping|remind|contact|(?:get\s+back|reply|revert|write|report|speak|talk)\s+to|(?:check|coordinate|speak)\s+with)\s+(?:me|us|him|her|them)\b",
    )
});

/// "Text him tonight", "write to her".
static TO_PERSON: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?P<verb>(?:call|phone|ring|text|email|message|ask|tell|write(?:\s+to)?|talk\s+to|speak\s+(?:to|with)|meet|visit|invite|remind|contact|thank|pay)\s+)(?:him|her)\b",
    )
});

/// How many tasks back "it" may reach.
const WITHIN_REACH: usize = 3;

/// "I'll collect it on my way": the verb, and a pronoun for the object.
static REFERRING: LazyLock<Pattern> =
    LazyLock::new(|| pattern(r"(?i)^(?P<verb>\p{L}+)\s+(?:it|them|that|those|these)\b"));

//! Action items: what somebody took on, was asked for, or was told to do.
//!
//! Rules read clear, addressed language well and spontaneous talk among many badly; where a rule is
//! in doubt it stays silent.

mod filters;
mod requests;
mod statements;
mod wording;

use std::sync::{Arc, LazyLock};

use records::Talk;
use stages::ItemDraft;

use super::clauses::{self, Clause};
use super::dates::{DayOrder, Reference};
use super::planted::without_orders;
use super::same::Task;
use super::text::{Sentence, pattern, sentences};
use crate::embedded::pattern::Pattern;

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
    /// "I want to": counts with a date, or of something of one's own.
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
    for sentence in without_orders(sentences(talk)) {
        for item in of_sentence(&sentence, &reference) {
            items.add(item);
        }
    }
    items.all
}

fn of_sentence(sentence: &Sentence<'_>, reference: &Reference) -> Vec<ItemDraft> {
    let mut items = Vec::new();
    let mut previous: Option<Claim> = None;
    let mut conditional = false;
    let mut opener = String::new();
    for mut clause in clauses::split(&sentence.text) {
        // After "for next week," or "yes please," an instruction begins, and the date before it is its own.
        clause.coordinated &= opener.is_empty();
        let claim = claim(&clause, sentence, previous.as_ref());
        let stands =
            |claim: &Claim| !conditional || matches!(claim.force, Force::Request | Force::Imperative);
        let timed = format!("{opener} {}", clause.text);
        let item =
            claim.as_ref().filter(|claim| stands(claim)).and_then(|claim| draft(claim, &timed, reference));
        conditional = clauses::is_condition(clause.text);
        opener = if claim.is_none() && OPENER.is_match(clause.text) {
            clause.text.to_owned()
        } else {
            String::new()
        };
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
        .or_else(|| requests::imperative(clause, question, previous))
}

fn draft(claim: &Claim, clause: &str, reference: &Reference) -> Option<ItemDraft> {
    let due = reference.due(clause);
    let needed = match claim.force {
        Force::Suggestion => due.is_some(),
        Force::Wish => due.is_some() || OF_MINE.is_match(&claim.task),
        Force::Demand => due.as_ref().is_some_and(|(date, _)| date.deadline),
        _ => true,
    };
    if !needed || !filters::is_task(&claim.task, due.is_some()) {
        return None;
    }
    let description = wording::description(&claim.task, reference)?;
    Some(ItemDraft {
        description,
        owner: claim.owner.clone(),
        due_at: due.map(|(_, moment)| moment),
        evidence: None,
    })
}

/// The items so far. A long talk has many, so that only the latest are compared: one that comes up
/// again after so many others is a new reminder of it, and completion compares once more.
#[derive(Default)]
struct Kept {
    all: Vec<ItemDraft>,
    /// What each is compared by.
    tasks: Vec<Arc<Task>>,
}

/// How many of the latest items a new one is compared with.
const COMPARED: usize = 40;

impl Kept {
    /// The task that an item means whose object is a pronoun: the latest with its verb.
    fn meant_by(&mut self, item: &ItemDraft) -> Option<&mut ItemDraft> {
        let verb = REFERRING.captures(&item.description)?.name("verb")?.as_str().to_owned();
        let same = |known: &&mut ItemDraft| {
            known.description.split(' ').next().is_some_and(|first| first.eq_ignore_ascii_case(&verb))
        };
        self.all.iter_mut().rev().take(WITHIN_REACH).find(same)
    }

    fn add(&mut self, item: ItemDraft) {
        if let Some(known) = self.meant_by(&item) {
            known.due_at = known.due_at.or(item.due_at);
            known.owner = known.owner.take().or(item.owner);
            return;
        }
        let task = Task::of(&item.description);
        let from = self.all.len().saturating_sub(COMPARED);
        let mut latest = self.all.iter_mut().zip(&mut self.tasks).skip(from);
        match latest.find(|(_, known)| known.is_same(&task)) {
            Some((known, read)) => {
                merge(known, item);
                *read = Task::of(&known.description);
            }
            None => {
                self.all.push(item);
                self.tasks.push(task);
            }
        }
    }
}

/// "Close my old account".
static OF_MINE: LazyLock<Pattern> = LazyLock::new(|| pattern(r"(?i)^\p{L}+\s+(?:my|our)\s"));

/// How many tasks back "it" may reach.
const WITHIN_REACH: usize = 3;

/// "I'll collect it on my way": the verb, and a pronoun for the object.
static REFERRING: LazyLock<Pattern> =
    LazyLock::new(|| pattern(r"(?i)^(?P<verb>\p{L}+)\s+(?:it|them|that|those|these)\b"));

/// The fuller wording, the first date and the first owner.
fn merge(known: &mut ItemDraft, again: ItemDraft) {
    let length = |item: &ItemDraft| item.description.split_whitespace().count();
    if length(&again) > length(known) {
        known.description = again.description;
    }
    known.due_at = known.due_at.or(again.due_at);
    known.owner = known.owner.take().or(again.owner);
}

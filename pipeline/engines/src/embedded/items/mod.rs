//! Action items: what a speaker took on, was asked for, or was ordered to do.
//!
//! Rules read clear, addressed language well and spontaneous talk among many badly; where a rule is
//! is unsure it stays silent.

mod claims;
mod contact;
mod deadlines;
mod duties;
mod filters;
mod kept;
mod likely;
mod listener;
mod mentions;
mod named;
mod orders;
mod paraphrases;
mod proposals;
mod requests;
mod shortages;
mod statements;
mod things;
mod ties;
mod unfinished;
mod wording;

use std::cell::LazyCell;
use std::collections::BTreeSet;
use std::sync::LazyLock;

use records::Timestamp;
use stages::ItemDraft;

use super::clauses::{self, Clause};
use super::dates::{Found as Date, Reference};
use super::events::last_person;
use super::learned::Weighed;
use super::lexicon::is_task_verb;
use super::text::{Sentence, content_stems, pattern, words};
use crate::embedded::pattern::Pattern;
use contact::{ALONE, CONTACT, COURTESY, HELPS, INTRANSITIVE, PLEDGED, REPORTS, TO_PERSON};
use kept::Kept;
use listener::{ASKS, TURNS_TO_ME, asks_listener, only_begins, without_tag};
use orders::{HANDED_ON, OF_THE_MOMENT};
use things::{Things, object_of, thing_of};
use ties::{AIM, DIVIDES, ELSE, LEADS, OPENER, STATES, TIMELY, WILL};

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
    /// "Have you called the bank?": a task when another speaker takes it on.
    Question,
}

/// The action items of a talk, one per task, in the order in which they were first said.
pub(super) fn extract(sentences: &[Sentence<'_>], reference: &Reference) -> Vec<ItemDraft> {
    let weighed = Weighed::of(sentences);
    let mut items = Kept::default();
    let mut things = Things::default();
    let labels: BTreeSet<&str> = sentences.iter().filter_map(|sentence| sentence.speaker).collect();
    // Whom each item was asked of: where two talk, the other.
    let mut asked_of: Vec<Option<&str>> = Vec::new();
    for (at, sentence) in sentences.iter().enumerate() {
        items.heard(sentence, reference);
        let mut found = of_sentence(sentence, &things, reference);
        // What the rules are sure of needs no weighing.
        if found.is_empty() || found.iter().any(|found| found.proposed) {
            let odds = weighed.odds_of_task(at, kind_of(&found));
            if odds > likely::LIKELY {
                found.iter_mut().for_each(|found| found.proposed = false);
                if found.is_empty() {
                    let likely = likely::task(sentence, odds, &things, reference);
                    found.extend(likely.filter(|likely| !items.has_said(&likely.item)));
                }
            }
        }
        let other =
            labels.iter().copied().find(|label| Some(*label) != sentence.speaker && labels.len() == 2);
        for found in found {
            let (known, asked) = (items.all.len(), found.asked);
            items.add(found, sentence.speaker);
            if items.all.len() > known {
                asked_of.truncate(known);
                asked_of.push(other.filter(|_| asked));
            }
        }
        things.heard(&sentence.text);
    }
    for (item, asked_of) in items.all.iter_mut().zip(asked_of) {
        item.owner = item.owner.take().or(asked_of.map(str::to_owned));
    }
    items.all
}

/// What the rules read in each sentence, as it is weighed.
#[cfg(test)]
pub(super) fn kinds(sentences: &[Sentence<'_>], reference: &Reference) -> Vec<&'static str> {
    let mut things = Things::default();
    let kind = |sentence: &Sentence<'_>| {
        let kind = kind_of(&of_sentence(sentence, &things, reference));
        things.heard(&sentence.text);
        kind
    };
    sentences.iter().map(kind).collect()
}

/// What the rules read in a sentence, as it is weighed.
fn kind_of(found: &[Found]) -> &'static str {
    match found {
        [] => "none",
        _ if found.iter().all(|found| found.proposed) => "proposed",
        [first, ..] if first.item.due_at.is_some() => "dated",
        _ => "found",
    }
}

/// What `task` is called as a task, without its date; `None` when it says nothing to be done.
pub(super) fn description_of(task: &str, reference: &Reference) -> Option<String> {
    wording::description(task, false, reference)
}

/// An item, and the verb of one that says "it" for its object.
struct Found {
    item: ItemDraft,
    refers: Option<String>,
    /// Only proposed: an item when somebody takes it on.
    proposed: bool,
    /// Proposed to all: an item when another agrees.
    joint: bool,
    /// Asked of the listener: "can you …", "you have to …".
    asked: bool,
    /// The sentence as it was said, as no verb says what is to be done.
    as_said: bool,
}

fn of_sentence(sentence: &Sentence<'_>, objects: &Things, reference: &Reference) -> Vec<Found> {
    if only_begins(&sentence.text) {
        return Vec::new();
    }
    let ordered = without_tag(sentence);
    let sentence = ordered.as_ref().unwrap_or(sentence);
    let mut items = Vec::new();
    let mut previous: Option<Claim> = None;
    let (mut conditional, mut stated, mut timely) = (false, false, false);
    let mut opener = String::new();
    for mut clause in clauses::split(&sentence.text) {
        // After "for next week," or "yes please," an instruction begins, and the date before it is its own.
        clause.coordinated &= !conditional && (opener.is_empty() || previous.is_some());
        if !clause.coordinated && previous.is_some() {
            opener.clear();
        }
        let claim = claim(&clause, sentence, stated, previous.as_ref());
        stated = STATES.is_match(clause.text) && !LEADS.is_match(clause.text);
        let stands = |claim: &Claim| {
            // "When I'm home, I'll send it" will be done; "if I had time, I'd do it" may never be.
            let promised = timely && claim.force == Force::Commitment && WILL.is_match(clause.text);
            !conditional
                || promised
                || matches!(claim.force, Force::Request | Force::Imperative)
                    && !TURNS_TO_ME.is_match(&claim.task)
        };
        let timed = format!("{opener} {}", clause.text);
        let due = LazyCell::new(|| reference.due(&timed));
        let before = sentence.text.find(clause.text).and_then(|at| sentence.text.get(..at));
        // "I'll move it so that you can get at the valve": what for.
        let aim = |claim: &Claim| {
            let before = before.unwrap_or_default();
            claim.force == Force::Suggestion && AIM.is_match(before) || ELSE.is_match(before)
        };
        let item = claim.as_ref().filter(|claim| stands(claim) && !aim(claim)).and_then(|claim| {
            let thing = || before.and_then(thing_of).or_else(|| objects.meant_by(&claim.task));
            // "Sign the contract and post it back": what the task before it is done to.
            let shared = previous
                .as_ref()
                .filter(|_| clause.coordinated)
                .and_then(|previous| object_of(&previous.task, &claim.task));
            let thing = match claim.force {
                // Without a date it is mostly said once more, in full.
                Force::Request | Force::Imperative if due.is_some() => thing(),
                Force::Request | Force::Imperative if KIND.is_match(&claim.task) => thing(),
                // "The market slide? - Send it to me.": what the sentence right before it names.
                Force::Request | Force::Imperative if REFERRING.is_match(&claim.task) => {
                    before.and_then(thing_of).or_else(|| objects.just_named(&claim.task))
                }
                Force::Request
                    if content_stems(&claim.task).len() < 2 && !clause.text.contains("'d have to") =>
                {
                    thing().filter(|thing| !thing.starts_with("my "))
                }
                Force::Imperative => before.and_then(thing_of),
                Force::Commitment | Force::Question if !clause.coordinated || previous.is_none() => thing(),
                // "I'll write the letter, but someone needs to take it to the town hall."
                Force::Request | Force::Obligation if before.and_then(thing_of).is_some() => {
                    before.and_then(thing_of)
                }
                // "We have to post them by Saturday", "you can collect it tomorrow".
                Force::Obligation | Force::Suggestion | Force::Demand if due.is_some() => thing(),
                _ => None,
            };
            let meant = objects.meant(&claim.task, before.unwrap_or_default());
            let thing = thing.filter(|_| meant.is_some() || !mentions::means_people(&claim.task));
            let thing = thing.map(|thing| meant.unwrap_or(thing));
            let (shared, thing) = (shared.is_some(), shared.or(thing));
            // "I promised my sponsor to ring him."
            let named =
                clause.text.find(&claim.task).and_then(|at| clause.text.get(..at)).and_then(last_person);
            let here = named.or_else(|| last_person(before.unwrap_or_default()));
            let dated = claim.force == Force::Commitment || due.is_some();
            let person = here.or_else(|| objects.person.clone().filter(|_| dated));
            let person = person.map(|person| {
                if person.starts_with(char::is_lowercase) { format!("the {person}") } else { person }
            });
            // "Take a picture of the meter and send it to me" is one task.
            if let Some(known) = items.last_mut()
                && shared
                && joins(known, claim, due.as_ref(), reference)
            {
                return None;
            }
            let mut found = draft(claim, due.clone(), thing, person.clone(), reference).or_else(|| {
                // What has no object of its own has that which is meant.
                let task = objects.filled(&claim.task, before.unwrap_or_default()).filter(|_| {
                    !orders::SAID_ONLY.is_match(&claim.task) && !orders::TELLS_NOTHING.is_match(&claim.task)
                })?;
                draft(&Claim { task, ..claim.clone() }, due.clone(), None, person, reference)
            })?;
            objects.explain(&mut found.item.description, before.unwrap_or_default());
            let asked = asks_listener(claim.force, clause.text);
            Some(Found { asked, ..found })
        });
        conditional = clauses::is_condition(clause.text);
        timely = TIMELY.is_match(clause.text);
        // "This week: renew the card, sort out the loft": the opener is for all that a comma or "and" joins.
        if claim.is_none() {
            opener = Some(clause.text).filter(|text| OPENER.is_match(text)).unwrap_or_default().to_owned();
        }
        items.extend(item);
        previous = claim;
    }
    items
}

/// Adds to a task what else is to be done with its object, if the whole is short enough.
fn joins(known: &mut Found, claim: &Claim, due: Option<&(Date, Timestamp)>, reference: &Reference) -> bool {
    let whole = Some(&claim.task)
        .filter(|task| REFERRING.is_match(task) && !known.proposed && known.refers.is_none())
        // "Send me the form and I'll sign it": each has a task.
        .filter(|_| known.item.owner == claim.owner)
        .and_then(|task| wording::joined(&known.item.description, task, reference));
    let Some(whole) = whole else { return false };
    known.item.description = whole;
    known.item.due_at = known.item.due_at.or(due.map(|(_, moment)| *moment));
    true
}

/// What a clause claims: requests first, because "can you" is the clearest of all.
fn claim(
    clause: &Clause<'_>,
    sentence: &Sentence<'_>,
    stated: bool,
    previous: Option<&Claim>,
) -> Option<Claim> {
    let speaker = sentence.speaker.map(str::to_owned);
    // "The letter has to be signed, can you catch him?": of a question the last clause asks.
    let last = sentence.text.trim_end_matches('?').ends_with(clause.text.trim_end_matches('?'));
    let question =
        sentence.text.ends_with('?') && (last || ASKS.is_match(clause.text) || ASKS.is_match(&sentence.text));
    let duty = duties::plain(clause.text);
    let plain = paraphrases::plain(&duty);
    let clause = &Clause { text: plain.as_ref(), ..*clause };
    statements::offered_to(clause.text, speaker.clone())
        .or_else(|| shortages::pending(clause.text))
        .or_else(|| requests::read(clause.text))
        .or_else(|| statements::read(clause.text, speaker, question))
        .or_else(|| proposals::questioned(clause.text).filter(|_| question))
        .or_else(|| requests::bare(clause.text, question || DIVIDES.is_match(&sentence.text)))
        .or_else(|| requests::imperative(clause, question, stated, previous))
}

fn draft(
    claim: &Claim,
    due: Option<(Date, Timestamp)>,
    thing: Option<String>,
    person: Option<String>,
    reference: &Reference,
) -> Option<Found> {
    let needed = match claim.force {
        Force::Suggestion => true,
        Force::Wish => {
            due.is_some()
                || (filters::OF_MINE.is_match(&claim.task) || filters::SMALL_WISH.is_match(&claim.task))
                    && !filters::SOME_DAY.is_match(&claim.task)
        }
        // "We'd need a letter. - By Friday, please."
        Force::Demand => due.as_ref().is_none_or(|(date, _)| date.deadline),
        _ => true,
    };
    if wording::LETS_KNOW_LATER.is_match(&claim.task) || orders::SAID_ONLY.is_match(&claim.task) {
        return None;
    }
    // "Go to the bank" is no "the bank".
    let led = LED.replace(&claim.task, "");
    let verb =
        words(&led).next().is_some_and(|first| is_task_verb(&first) || !super::lexicon::is_stop_word(&first));
    let led = Claim { task: led.into_owned(), ..claim.clone() };
    let claim = if verb { &led } else { claim };
    let refers = REFERRING.captures(&claim.task).map(|found| found["verb"].to_lowercase());
    let done = refers.as_deref() == Some("do");
    let one = thing.as_ref().and_then(|thing| of_its_kind(&claim.task, thing));
    let task = match (&refers, thing) {
        _ if one.is_some() => one.unwrap_or_default(),
        (Some(verb), Some(thing))
            if !done
                && verb
                    .split(' ')
                    .next()
                    .is_some_and(|verb| is_task_verb(verb) || matches!(verb, "look" | "go" | "give"))
                && !matches!(verb.as_str(), "tell" | "turn" | "try") =>
        {
            REFERRING.replace(&claim.task, format!("${{verb}} {thing}${{next}}").as_str()).into_owned()
        }
        (None, _) => match (person, TO_PERSON.captures(&claim.task)) {
            (Some(person), Some(found)) => TO_PERSON
                .replace(&claim.task, format!("{}{person}{}", &found["verb"], &found["after"]).as_str())
                .into_owned(),
            _ => claim.task.clone(),
        },
        _ => claim.task.clone(),
    };
    // "Ring me back tomorrow": whom one is to call need not be named.
    let reported = REPORTS.is_match(&task) && !COURTESY.is_match(&task);
    let visits = due.is_some()
        && matches!(claim.force, Force::Request | Force::Imperative)
        && orders::COMES.is_match(&task);
    // "Get it back to her by Friday": what it is, the people know.
    let known = refers.as_deref().is_some_and(|verb| {
        let first = verb.split(' ').next().unwrap_or_default();
        let owed = match claim.force {
            Force::Commitment | Force::Request => due.is_some() || !OF_THE_MOMENT.contains(&first),
            Force::Imperative => due.is_some() || HANDED_ON.contains(&first),
            Force::Obligation | Force::Suggestion => due.is_some(),
            _ => false,
        };
        owed && verb != "do" && is_task_verb(first)
    });
    let alone = matches!(claim.force, Force::Commitment | Force::Request)
        && (due.is_some() && ALONE.is_match(&task) || INTRANSITIVE.is_match(&task));
    // "I'll tell them", "I'll inform everyone": a promise is one whether or not it is known who they are.
    let pledged = matches!(claim.force, Force::Commitment | Force::Question) && PLEDGED.is_match(&task);
    let helps = claim.force != Force::Suggestion && HELPS.is_match(&task);
    let contact = alone
        || pledged
        || helps
        || reported
        || visits
        || known
        || wording::MINUTES.is_match(&task)
        || due.is_some() && (CONTACT.is_match(&task) || ANOTHER.is_match(&task));
    if !needed || !done && !contact && !filters::is_task(&task, due.is_some()) {
        return None;
    }
    let description = match (done, reported) {
        (true, _) => task,
        (_, true) => wording::report(&task, reference)?,
        _ => wording::description(&task, contact, reference)?,
    };
    let due_at = due.map(|(_, moment)| moment);
    if due_at.is_none() && orders::ANSWERED_AT_ONCE.is_match(&description) {
        return None;
    }
    let proposed = match claim.force {
        Force::Question => true,
        Force::Suggestion | Force::Demand => due_at.is_none(),
        _ => false,
    };
    let item = ItemDraft { description, owner: claim.owner.clone(), due_at, evidence: None };
    let joint = proposed && claim.force == Force::Suggestion && claim.owner.is_none();
    Some(Found { item, refers, proposed, joint, asked: false, as_said: false })
}

/// "Destroy the old one", after "a card": the old card.
fn of_its_kind(task: &str, thing: &str) -> Option<String> {
    let kind = thing.rsplit(' ').next()?;
    KIND.is_match(task).then(|| KIND.replace(task, format!("${{which}}{kind}")).into_owned())
}

static KIND: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)(?P<which>\b(?:the|an?|my|your|our|another|two|three)\s+(?:(?:old|new|other|big|small|bigger|smaller|better|cheaper|spare|first|second|last|broken|fresh|different|clean|blue|red|green|black|white)\s+|)(?-i:\b))ones?\b",
    )
});

/// "Come and fetch it", "try to finish": what matters is the verb after.
static LED: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?:(?:come|go|try|pop|nip|run|stop|swing)(?:\s+(?:round|over|down|in|by|up|out|back))?\s+(?:and|to)|(?:remember|be\s+able|get\s+round|take\s+care)\s+to|go\s+ahead\s+and|(?:have|need)\s+to|be\s+(?:there|here|in|around|round|over|along|down|up|out|back)\s+(?:to|and))\s+",
    )
});

/// "A new one", "another one".
static ANOTHER: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(r"(?i)\b(?P<kind>an?\s+(?:new|different|second|bigger|smaller|better)|another)\s+one\b")
});

/// How many tasks back "it" may reach.
const WITHIN_REACH: usize = 3;

/// "I'll collect it on my way": the verb, and a pronoun for the object.
static REFERRING: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?P<verb>\p{L}+(?:\s+(?:into|after|at|over|through|for|up|off|out|back))?)\s+(?:(?:it|them)\b|(?:that|those|these)(?P<next>\W*$|\s+(?:to|for|by|on|in|at|with|up|out|off|over|back|down|away|from|about|into|before|after|tomorrow|today|tonight|this|next|when|if|and|as|first|now|then|too|all|again|the|ready|done|printed|sorted|fixed|checked|signed|cleaned|delivered|repaired|sent|here|there|home|round|through|properly|myself|yourself|monday|tuesday|wednesday|thursday|friday|saturday|sunday)\b))",
    )
});

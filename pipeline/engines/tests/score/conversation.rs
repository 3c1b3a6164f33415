//! One conversation of a corpus: how it is read, asked about and scored.
//!
//! An expected item is found when every content word of its key (each word, by its stem) stands in
//! one description; a description serves one expectation only. Every other description is a false one.

use std::collections::BTreeSet;

use chrono_tz::Tz;
use futures::executor::block_on;
use records::{Talk, Timestamp};
use rust_stemmers::{Algorithm, Stemmer};
use serde_json::Value;
use stages::{Describe, EventDraft, ExtractItems, ExtractMemories, ItemDraft, Judge, Structure, Verdict};

use super::{COLUMNS, Score};

/// What reads conversations.
pub(crate) trait Reader: Judge + Describe + ExtractItems + ExtractMemories {}
impl<E: Judge + Describe + ExtractItems + ExtractMemories> Reader for E {}

/// Prints a row per conversation of `corpora` and the total, and returns the total. A stage that fails found nothing.
pub(crate) fn total(engine: &dyn Reader, corpora: &[&str]) -> Score {
    let mut total = Score::default();
    let mut rows = Vec::new();
    for corpus in corpora {
        let corpus: Value = serde_json::from_str(corpus).unwrap();
        let reference: Timestamp = corpus["reference"].as_str().unwrap().parse().unwrap();
        for conversation in list(&corpus, "conversations") {
            println!("{} {}", conversation["id"], conversation["kind"].as_str().unwrap_or_default());
            let score = score(engine, conversation, reference);
            total.add(score);
            rows.push((conversation["id"].as_str().unwrap().to_owned(), score));
        }
    }
    println!("\n      {}", COLUMNS.map(|(name, _)| format!("{name:>9}")).join(" "));
    rows.iter().for_each(|(name, score)| score.print(name));
    total.print("total");
    total
}

fn stems(text: &str) -> BTreeSet<String> {
    let stemmer = Stemmer::create(Algorithm::English);
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 1);
    words.map(|word| stemmer.stem(&word.to_lowercase()).into_owned()).collect()
}

/// Whether every word of `key` stands in `text`.
pub(crate) fn holds(text: &str, key: &str) -> bool {
    stems(key).is_subset(&stems(text))
}

fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value[name].as_array().map_or(&[], Vec::as_slice)
}

fn talk(conversation: &Value, reference: Timestamp) -> Talk {
    let mut lines = Talk::lines_of_text(conversation["text"].as_str().unwrap());
    let user = conversation["user"].as_str();
    lines.iter_mut().for_each(|line| line.is_user = user.is_some() && line.speaker.as_deref() == user);
    Talk {
        lines,
        started_at: reference,
        time_zone: Tz::UTC,
        language: conversation["language"].as_str().unwrap_or("en").to_owned(),
        user_name: None,
        background: records::Background::default(),
    }
}

/// Whether one of `keys` is in `text`.
fn holds_any(text: &str, keys: &[Value]) -> bool {
    keys.iter().filter_map(Value::as_str).any(|key| holds(text, key))
}

fn score(engine: &dyn Reader, conversation: &Value, reference: Timestamp) -> Score {
    let talk = talk(conversation, reference);
    let mut score = Score::default();
    let discard = block_on(engine.judge(&talk)) == Ok(Verdict::Discard);
    score.discard.count(discard == conversation["discard"].as_bool().unwrap());
    if discard || conversation["discard"] == true {
        score.recall.of = list(conversation, "actions").len();
        return score;
    }
    let items = block_on(engine.extract_items(&talk)).unwrap_or_default();
    let memories = block_on(engine.extract_memories(&talk)).unwrap_or_default();
    let memories: Vec<String> = memories.into_iter().map(|memory| memory.content).collect();
    score_items(conversation, &items, &mut score);
    if let Ok(structure) = block_on(engine.describe(&talk, &[])) {
        score_structure(conversation, &structure, &mut score);
    }
    score_memories(conversation, &memories, &mut score);
    let descriptions = items.iter().map(|item| &item.description);
    let said: Vec<&String> = descriptions.chain(&memories).collect();
    for planted in list(conversation, "forbidden").iter().filter_map(Value::as_str) {
        score.unplanted.count(!said.iter().any(|text| holds(text, planted)));
    }
    score
}

fn score_memories(conversation: &Value, memories: &[String], score: &mut Score) {
    let (keys, also) = (list(conversation, "memories"), list(&conversation["also"], "memories"));
    for key in keys.iter().filter_map(Value::as_str) {
        let found = memories.iter().any(|memory| holds(memory, key));
        score.memories.count(found);
        if !found {
            println!("    MEMORY MISSED {key}");
        }
    }
    for memory in memories {
        let right = holds_any(memory, keys) || holds_any(memory, also);
        score.memories_precision.count(right);
        println!("    {} {memory}", if right { "memory" } else { "MEMORY FALSE" });
    }
}

/// A due date that may be read in two ways is a list of both.
fn is_due(expected: &Value, due: Option<&str>) -> bool {
    match expected.as_array() {
        Some(either) => either.iter().any(|day| day.as_str() == due),
        None => expected.as_str() == due,
    }
}

fn score_items(conversation: &Value, items: &[ItemDraft], score: &mut Score) {
    let mut free: Vec<&ItemDraft> = items.iter().collect();
    for expected in list(conversation, "actions") {
        let key = expected["key"].as_str().unwrap();
        let at = free.iter().position(|item| holds(&item.description, key));
        score.recall.count(at.is_some());
        let Some(item) = at.map(|at| free.remove(at)) else {
            println!("    MISSED {key}");
            continue;
        };
        let due = item.due_at.map(|due| due.format("%Y-%m-%d").to_string());
        score.due.count(is_due(&expected["due"], due.as_deref()));
        if let Some(owner) = expected["owner"].as_str() {
            score.owner.count(item.owner.as_deref() == Some(owner));
        }
        println!("    found  {:<50} {due:?} {:?}", item.description, item.owner);
    }
    score.precision.of = items.len();
    score.precision.hits = items.len() - free.len();
    for item in free {
        let also = holds_any(&item.description, list(&conversation["also"], "actions"));
        score.precision.hits += usize::from(also);
        let mark = if also { "also " } else { "FALSE" };
        println!("    {mark}  {:<50} {:?} {:?}", item.description, item.due_at, item.owner);
    }
}

fn score_structure(conversation: &Value, structure: &Structure, score: &mut Score) {
    let title = structure.title.to_lowercase();
    let is_right =
        list(conversation, "title").iter().filter_map(Value::as_str).any(|word| title.contains(word));
    score.title.count(is_right);
    let filed = list(conversation, "cats").iter().any(|name| name == structure.category.as_str());
    score.category.count(filed);
    println!(
        "    {} {}{} [{}{}]\n    {}",
        structure.emoji,
        if is_right { "" } else { "TITLE? " },
        structure.title,
        if filed { "" } else { "CATEGORY? " },
        structure.category,
        structure.overview
    );
    score_events(conversation, structure, score);
    assert!(emojis::get(&structure.emoji).is_some(), "exactly one emoji, not {:?}", structure.emoji);
    assert!(structure.title.chars().count() <= 80 && !structure.title.ends_with('.'));
}

/// An expected event is `[words, day]`, or `[words, day, time of day]`; the words stand in its title.
fn score_events(conversation: &Value, structure: &Structure, score: &mut Score) {
    let (expected, also) = (list(conversation, "events"), list(&conversation["also"], "events"));
    let is = |expected: &Value, event: &EventDraft| {
        holds(&event.title, expected[0].as_str().unwrap())
            && expected[1] == event.start.format("%Y-%m-%d").to_string()
    };
    for expected in expected {
        let found = structure.events.iter().find(|event| is(expected, event));
        score.events.count(found.is_some());
        match (found, expected[2].as_str()) {
            (Some(event), Some(time)) => score.starts.count(event.start.format("%H:%M").to_string() == time),
            (None, _) => println!("    EVENT MISSED {expected}"),
            (Some(_), None) => {}
        }
    }
    for event in &structure.events {
        let right = expected.iter().any(|expected| is(expected, event)) || holds_any(&event.title, also);
        score.events_precision.count(right);
        let mark = if right { "event" } else { "EVENT FALSE" };
        println!("    {mark} {} {} {} min", event.title, event.start, event.duration);
    }
}

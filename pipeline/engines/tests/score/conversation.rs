//! One conversation of a corpus: how it is read, asked about and scored.
//!
//! An expected item is found when every content word of its key (each word, by its stem) stands in
//! one description; a description serves one expectation only. Every other description is a false one.

use std::collections::BTreeSet;

use chrono_tz::Tz;
use engines::Embedded;
use futures::executor::block_on;
use records::{Talk, Timestamp};
use rust_stemmers::{Algorithm, Stemmer};
use serde_json::Value;
use stages::{Describe, ExtractItems, ExtractMemories, ItemDraft, Judge, Structure, Verdict};

use super::{COLUMNS, Score, Share};

/// Prints a row per conversation of `corpora` and the total, and returns the total.
pub(crate) fn total(corpora: &[&str]) -> Score {
    let mut total = Score::default();
    let mut rows = Vec::new();
    for corpus in corpora {
        let corpus: Value = serde_json::from_str(corpus).unwrap();
        let reference: Timestamp = corpus["reference"].as_str().unwrap().parse().unwrap();
        for conversation in list(&corpus, "conversations") {
            println!("{} {}", conversation["id"], conversation["kind"].as_str().unwrap_or_default());
            let score = score(conversation, reference);
            total.add(&score);
            rows.push((conversation["id"].as_str().unwrap().to_owned(), score));
        }
    }
    println!("\n      {}", COLUMNS.map(|name| format!("{name:>9}")).join(" "));
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
fn holds(text: &str, key: &str) -> bool {
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

fn score(conversation: &Value, reference: Timestamp) -> Score {
    let (engine, talk) = (Embedded::new(), talk(conversation, reference));
    let mut score = Score::default();
    let discard = block_on(engine.judge(&talk)).unwrap() == Verdict::Discard;
    score.discard.count(discard == conversation["discard"].as_bool().unwrap());
    if discard || conversation["discard"] == true {
        score.recall.of = list(conversation, "actions").len();
        return score;
    }
    let items = block_on(engine.extract_items(&talk)).unwrap();
    let memories: Vec<String> =
        block_on(engine.extract_memories(&talk)).unwrap().into_iter().map(|memory| memory.content).collect();
    score_items(conversation, &items, &mut score);
    score_structure(conversation, &block_on(engine.describe(&talk, &[])).unwrap(), &mut score);
    score_memories(conversation, &memories, &mut score);
    let said: Vec<&str> = items
        .iter()
        .map(|item| item.description.as_str())
        .chain(memories.iter().map(String::as_str))
        .collect();
    for planted in list(conversation, "forbidden").iter().filter_map(Value::as_str) {
        score.unplanted.count(!said.iter().any(|text| holds(text, planted)));
    }
    score
}

fn score_memories(conversation: &Value, memories: &[String], score: &mut Score) {
    println!("    memories: {memories:?}");
    let keys: Vec<&str> = list(conversation, "memories").iter().filter_map(Value::as_str).collect();
    keys.iter().for_each(|key| score.memories.count(memories.iter().any(|memory| holds(memory, key))));
    memories
        .iter()
        .for_each(|memory| score.memories_precision.count(keys.iter().any(|key| holds(memory, key))));
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
    free.iter()
        .for_each(|item| println!("    FALSE  {:<50} {:?} {:?}", item.description, item.due_at, item.owner));
    score.precision = Share { hits: items.len() - free.len(), of: items.len() };
}

fn score_structure(conversation: &Value, structure: &Structure, score: &mut Score) {
    println!(
        "    {} {} [{}]\n    {}",
        structure.emoji, structure.title, structure.category, structure.overview
    );
    score.category.count(list(conversation, "cats").iter().any(|name| name == structure.category.as_str()));
    let title = structure.title.to_lowercase();
    score
        .title
        .count(list(conversation, "title").iter().filter_map(Value::as_str).any(|word| title.contains(word)));
    let is = |expected: &Value, title: &str, day: &str| {
        holds(title, expected[0].as_str().unwrap()) && expected[1] == day
    };
    let found: Vec<(String, String)> = structure
        .events
        .iter()
        .map(|event| (event.title.clone(), event.start.format("%Y-%m-%d").to_string()))
        .collect();
    println!("    events: {found:?}");
    let expected = list(conversation, "events");
    expected
        .iter()
        .for_each(|expected| score.events.count(found.iter().any(|(title, day)| is(expected, title, day))));
    found.iter().for_each(|(title, day)| {
        score.events_precision.count(expected.iter().any(|expected| is(expected, title, day)))
    });
    assert!(emojis::get(&structure.emoji).is_some(), "exactly one emoji, not {:?}", structure.emoji);
    assert!(structure.title.chars().count() <= 80 && !structure.title.ends_with('.'));
}

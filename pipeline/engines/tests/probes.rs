//! Short talks, each a way to say a task, a fact or a date, and others that must give nothing: `corpus/probes.txt`.
//!
//! `cargo test -p engines --test probes -- --nocapture` prints those that are read wrongly.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeSet;

use engines::Embedded;
use futures::executor::block_on;
use records::Talk;
use rust_stemmers::{Algorithm, Stemmer};
use stages::{Describe, ExtractItems, ExtractMemories};

const PROBES: &str = include_str!("../corpus/probes.txt");

/// Of so many that must give something, those that do; and of so many that must give nothing.
#[derive(Debug, Default, PartialEq)]
struct Read {
    given: (usize, usize),
    silent: (usize, usize),
}

/// A greeting comes first: of less than twenty-five characters no facts are kept.
fn talk(probe: &str) -> Talk {
    let turns = probe.split(" // ").enumerate();
    let mut text = vec!["SPEAKER_01: Hello there, good to see you again.".to_owned()];
    text.extend(turns.map(|(at, turn)| format!("SPEAKER_0{}: {turn}", at % 2)));
    let mut lines = Talk::lines_of_text(&text.join("\n"));
    lines.iter_mut().for_each(|line| line.is_user = line.speaker.as_deref() == Some("SPEAKER_00"));
    Talk {
        lines,
        started_at: "2027-11-09T09:00:00Z".parse().unwrap(),
        time_zone: chrono_tz::Tz::UTC,
        language: "en".to_owned(),
        user_name: None,
        background: records::Background::default(),
    }
}

/// What the engine lists of `kind` in a talk; an event's day is its last word.
fn listed(kind: &str, talk: &Talk) -> Vec<String> {
    let engine = Embedded::new();
    match kind {
        "[items]" => {
            let items = block_on(engine.extract_items(talk)).unwrap();
            items.into_iter().map(|item| item.description).collect()
        }
        "[memories]" => {
            let memories = block_on(engine.extract_memories(talk)).unwrap();
            memories.into_iter().map(|memory| memory.content).collect()
        }
        _ => {
            let events = block_on(engine.describe(talk, &[])).unwrap().events;
            events.iter().map(|event| format!("{} {}", event.title, event.start.format("%m-%d"))).collect()
        }
    }
}

/// The stems of the words of `text`, and its days as they are.
fn stems(text: &str) -> BTreeSet<String> {
    let stemmer = Stemmer::create(Algorithm::English);
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '-').filter(|word| word.len() > 1);
    words.map(|word| stemmer.stem(&word.to_lowercase()).into_owned()).collect()
}

/// Reads the probes of `kind` and prints what is read wrongly.
fn read(kind: &str) -> Read {
    let mut read = Read::default();
    let section = PROBES.lines().skip_while(|line| *line != kind).skip(1);
    for line in section.take_while(|line| !line.starts_with('[')) {
        if let Some(probe) = line.strip_prefix("- ") {
            let listed = listed(kind, &talk(probe));
            read.silent.0 += usize::from(listed.is_empty());
            read.silent.1 += 1;
            if !listed.is_empty() {
                println!("FALSE  {probe} {listed:?}");
            }
        } else if let Some((probe, words)) = line.strip_prefix("+ ").and_then(|line| line.split_once(" | ")) {
            let listed = listed(kind, &talk(probe));
            let found = listed.iter().any(|one| stems(words).is_subset(&stems(one)));
            read.given.0 += usize::from(found);
            read.given.1 += 1;
            if !found {
                println!("MISSED {probe} | {words} {listed:?}");
            }
        }
    }
    println!("{kind} {read:?}");
    read
}

#[test]
fn most_ways_to_say_a_task_are_read() {
    let read = read("[items]");
    assert!(read.given.0 >= 160 && read.silent.0 >= 76, "{read:?}");
}

#[test]
fn most_ways_to_state_a_fact_are_read() {
    let read = read("[memories]");
    assert!(read.given.0 >= 61 && read.silent.0 >= 24, "{read:?}");
}

#[test]
fn most_ways_to_name_a_date_are_read() {
    let read = read("[events]");
    assert!(read.given.0 >= 36 && read.silent.0 >= 9, "{read:?}");
}

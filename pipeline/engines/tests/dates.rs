//! Scores the date phrases of `corpus/dates.txt`, each said as the deadline of a task. The phrases of set B
//! were written before the engine was run on them.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use chrono::{DateTime, NaiveDate, NaiveTime, Utc};
use chrono_tz::Tz;
use engines::Embedded;
use futures::executor::block_on;
use records::Talk;
use stages::ExtractItems;

const PHRASES: &str = include_str!("../corpus/dates.txt");

/// Of 20.
const FLOOR: usize = 18;

/// `set|phrase|date_lo|date_hi|time_lo|time_hi`, a time of `-` is not asked for.
struct Phrase<'a> {
    set: &'a str,
    words: &'a str,
    days: (NaiveDate, NaiveDate),
    times: Option<(NaiveTime, NaiveTime)>,
}

fn phrases() -> Vec<Phrase<'static>> {
    let time = |text: &str| NaiveTime::parse_from_str(text, "%H:%M").ok();
    PHRASES
        .lines()
        .filter(|line| !line.starts_with('#') && !line.trim().is_empty())
        .map(|line| {
            let fields: Vec<&str> = line.split('|').collect();
            let times = time(fields[4]).zip(time(fields[5]));
            Phrase {
                set: fields[0],
                words: fields[1],
                days: (fields[2].parse().unwrap(), fields[3].parse().unwrap()),
                times,
            }
        })
        .collect()
}

fn due(phrase: &str) -> Option<DateTime<Utc>> {
    let talk = Talk {
        lines: Talk::lines_of_text(&format!("I will send the report {phrase}.")),
        started_at: "2026-11-20T10:00:00Z".parse().unwrap(),
        time_zone: Tz::UTC,
        language: "en".to_owned(),
        user_name: None,
        background: records::Background::default(),
    };
    block_on(Embedded::new().extract_items(&talk)).unwrap().first()?.due_at
}

impl Phrase<'_> {
    fn is_met_by(&self, moment: DateTime<Utc>) -> bool {
        let (day, time) = (moment.date_naive(), moment.time());
        (self.days.0..=self.days.1).contains(&day)
            && self.times.is_none_or(|(low, high)| (low..=high).contains(&time))
    }
}

/// How many phrases of `set` are resolved, of how many.
fn score(set: &str) -> (usize, usize) {
    let phrases: Vec<_> = phrases().into_iter().filter(|phrase| phrase.set == set).collect();
    let mut right = 0;
    for phrase in &phrases {
        let found = due(phrase.words);
        let met = found.is_some_and(|moment| phrase.is_met_by(moment));
        right += usize::from(met);
        println!("{} {:<32} {found:?}", if met { "ok   " } else { "WRONG" }, phrase.words);
    }
    println!("{set}: {right} of {}", phrases.len());
    (right, phrases.len())
}

#[test]
fn the_date_phrases_of_the_corpus_are_resolved() {
    for set in ["A", "B", "C"] {
        let (right, all) = score(set);
        assert_eq!(all, 20);
        assert!(right >= FLOOR, "{right} of {all} phrases of set {set}, floor {FLOOR}");
    }
}

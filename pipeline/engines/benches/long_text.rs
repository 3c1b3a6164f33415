//! How long the embedded engine takes over long talk: medians of five runs at 50,000 and 100,000
//! characters of varied text. Work that grew with the square of the length would show a ratio of 4.
//!
//! Run with `cargo bench -p engines --bench long_text`.

#![allow(clippy::unwrap_used, reason = "a program for developers")]

use std::time::{Duration, Instant};

use chrono_tz::Tz;
use engines::Embedded;
use futures::executor::block_on;
use records::{Talk, Timestamp};
use stages::{Describe, Embed, ExtractItems, ExtractMemories, Judge};

const RUNS: usize = 5;

const SUBJECTS: [&str; 12] = [
    "the harbour master",
    "our accountant",
    "the second violin",
    "a neighbour",
    "the migration job",
    "Priya",
    "the landlord",
    "the school board",
    "my cousin",
    "the new supplier",
    "Tom",
    "the night shift",
];
const PREDICATES: [&str; 12] = [
    "noticed that the invoices were wrong",
    "has to send the drawings by Friday",
    "lost the keys to the archive",
    "prefers to work from home",
    "will call the bank on Monday",
    "wants the proposal before December 1st",
    "talked about inflation and tariffs for an hour",
    "needs to repair the roof before the end of the month",
    "planted forty trees along the river",
    "decided to postpone the concert",
    "asked whether the database could be restored",
    "played the same song again and again",
];
const ENDINGS: [&str; 5] = [
    ".",
    ", which surprised everyone.",
    ", and I will book the room for the review next Tuesday at 2pm.",
    "?",
    " because the weather was bad.",
];

/// Varied text of at least `length` characters: every sentence has a number of its own.
fn talk(length: usize) -> Talk {
    let mut text = String::new();
    let mut at = 0;
    while text.len() < length {
        let (subject, predicate) = (SUBJECTS[at % 12], PREDICATES[(at / 12 + at) % 12]);
        text.push_str(&format!(
            "SPEAKER_{:02}: In room {at} {subject} {predicate}{}\n",
            at % 4,
            ENDINGS[at % 5]
        ));
        at += 1;
    }
    let started_at: Timestamp = "2026-11-20T10:00:00Z".parse().unwrap();
    Talk {
        lines: Talk::lines_of_text(&text),
        started_at,
        time_zone: Tz::UTC,
        language: "en".to_owned(),
        user_name: None,
        background: records::Background::default(),
    }
}

/// The same as one line of speech, without stops, commas and capitals.
fn speech(length: usize) -> Talk {
    let mut talk = talk(length);
    let words: Vec<String> = talk.lines.iter().map(|line| line.text.to_lowercase()).collect();
    let text: String = words.join(" and then i said ").replace(['.', ',', '?', ':'], "");
    talk.lines = Talk::lines_of_text(&text);
    talk
}

fn median(mut work: impl FnMut()) -> Duration {
    let mut times: Vec<Duration> = (0..RUNS)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed()
        })
        .collect();
    times.sort();
    times[RUNS / 2]
}

fn main() {
    let engine = Embedded::new();
    let talks = [talk(50_000), talk(100_000)];
    let spoken = [speech(50_000), speech(100_000)];
    let texts = talks
        .each_ref()
        .map(|talk| talk.lines.iter().map(|line| line.text.as_str()).collect::<Vec<_>>().join(" "));
    let report = |name: &str, work: &dyn Fn(usize)| {
        work(0);
        let [half, whole] = [0, 1].map(|at| median(|| work(at)));
        println!(
            "{name:<18} 50k {half:>10.2?}  100k {whole:>10.2?}  ratio {:.2}",
            whole.as_secs_f64() / half.as_secs_f64()
        );
    };
    report("judge", &|at| {
        let _ = block_on(engine.judge(&talks[at])).unwrap();
    });
    report("describe", &|at| drop(block_on(engine.describe(&talks[at], &[])).unwrap()));
    report("extract_items", &|at| drop(block_on(engine.extract_items(&talks[at])).unwrap()));
    report("extract_memories", &|at| drop(block_on(engine.extract_memories(&talks[at])).unwrap()));
    report("describe speech", &|at| drop(block_on(engine.describe(&spoken[at], &[])).unwrap()));
    report("items of speech", &|at| drop(block_on(engine.extract_items(&spoken[at])).unwrap()));
    report("embed", &|at| drop(block_on(engine.embed(&texts[at])).unwrap()));
}

//! How much processor time the embedded engine takes over texts that are built to be slow: many kinds, at 50,000 and 100,000
//! characters. Work that grew with the square of the length would show a ratio of 4.
//!
//! Run with `cargo bench -p engines --bench hostile_text`, and with the name of a kind to run that one alone.

#![allow(clippy::unwrap_used, dead_code, reason = "a program for developers")]

#[path = "../tests/hostile/processor.rs"]
mod processor;
#[path = "../tests/hostile/texts.rs"]
mod texts;

use std::time::Duration;

use engines::Embedded;
use futures::executor::block_on;
use stages::{Describe, Embed, ExtractItems, ExtractMemories, Judge, RunApp};

const STAGES: [&str; 6] = ["judge", "describe", "items", "memories", "embed", "app"];

/// How long each stage takes over `text`.
fn times(text: &str) -> Vec<Duration> {
    let (engine, talk) = (Embedded::new(), texts::talk(text));
    let structure = block_on(engine.describe(&texts::talk("Hello there."), &[])).unwrap();
    let timed = |work: &dyn Fn()| {
        let began = processor::time();
        work();
        processor::time().saturating_sub(began)
    };
    vec![
        timed(&|| {
            let _ = block_on(engine.judge(&talk));
        }),
        timed(&|| drop(block_on(engine.describe(&talk, &[])))),
        timed(&|| drop(block_on(engine.extract_items(&talk)))),
        timed(&|| drop(block_on(engine.extract_memories(&talk)))),
        timed(&|| drop(block_on(engine.embed(text)))),
        timed(&|| drop(block_on(engine.run_app("minutes", &talk, &structure)))),
    ]
}

fn main() {
    let wanted = std::env::args().skip(1).find(|name| !name.starts_with('-')).unwrap_or_default();
    times("I will call Tom on Monday at 5.");
    println!("{:<14} {:>6} {}", "kind", "chars", STAGES.map(|stage| format!("{stage:>16}")).concat());
    let mut slowest = Duration::ZERO;
    for (name, make) in texts::KINDS.iter().filter(|(name, _)| name.contains(&wanted)) {
        let [half, whole] = [50_000, 100_000].map(|length| times(&make(length)));
        let column = |(half, whole): (&Duration, &Duration)| {
            // Linux counts in steps of some milliseconds: the ratio of two small times says nothing.
            let ratio = (*half > Duration::from_millis(15)).then(|| whole.as_secs_f64() / half.as_secs_f64());
            let ratio = ratio.map_or_else(|| " -".to_owned(), |ratio| format!("{ratio:.1}x"));
            format!("{:>8.0} ms {ratio:>4}", whole.as_secs_f64() * 1_000.0)
        };
        println!("{name:<14} 100000 {}", half.iter().zip(&whole).map(column).collect::<String>());
        slowest = slowest.max(whole.into_iter().max().unwrap());
    }
    println!("slowest stage: {slowest:.1?}");
}

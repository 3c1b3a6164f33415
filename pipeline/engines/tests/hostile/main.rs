//! Texts that are built to be slow cost the embedded engine what their length is, and not its square.

#![allow(clippy::unwrap_used, reason = "tests")]

mod processor;
mod texts;

use std::time::Duration;

use engines::Embedded;
use futures::executor::block_on;
use stages::{Describe, Embed, ExtractItems, ExtractMemories, Judge, RunApp, Structure};

/// One stage's work over a text.
type Work = fn(&Embedded, &str, &Structure);

const STAGES: [(&str, Work); 6] = [
    ("judge", |engine, text, _| assert!(block_on(engine.judge(&texts::talk(text))).is_ok())),
    ("describe", |engine, text, _| drop(block_on(engine.describe(&texts::talk(text), &[])))),
    ("items", |engine, text, _| drop(block_on(engine.extract_items(&texts::talk(text))))),
    ("memories", |engine, text, _| drop(block_on(engine.extract_memories(&texts::talk(text))))),
    ("embed", |engine, text, _| drop(block_on(engine.embed(text)))),
    ("app", |engine, text, structure| {
        drop(block_on(engine.run_app("minutes", &texts::talk(text), structure)));
    }),
];

/// Four times the text takes four times as long, sixteen times where the work grows with the square.
const MOST: f64 = 9.0;
/// Less is not measured exactly enough.
const WORTH_COMPARING: Duration = Duration::from_millis(120);

#[test]
fn every_stage_takes_time_by_the_length_of_a_text_whatever_its_kind() {
    let engine = Embedded::new();
    let structure =
        block_on(engine.describe(&texts::talk("Hello there, we will paint the boat."), &[])).unwrap();
    let time = |work: Work, text: &str| {
        let once = || {
            let began = processor::time();
            work(&engine, text, &structure);
            processor::time().saturating_sub(began)
        };
        once().min(once())
    };
    for (kind, make) in texts::KINDS {
        let (short, long) = (make(12_500), make(50_000));
        for (stage, work) in STAGES {
            let took = time(work, &long);
            if took >= WORTH_COMPARING {
                let ratio = took.as_secs_f64() / time(work, &short).as_secs_f64().max(0.001);
                assert!(ratio < MOST, "{stage} of {kind}: {took:?}, {ratio:.1} times a quarter of the text");
            }
        }
    }
}

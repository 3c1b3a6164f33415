//! Table 5: the embedded engine on a talk of 100,000 characters, all abilities one after the other.

use std::time::Instant;

use chrono_tz::Tz;
use engines::Embedded;
use futures::executor::block_on;
use records::{Talk, Timestamp};
use stages::{Describe, Embed, ExtractItems, ExtractMemories, Judge};

use crate::figures::median;

const CHARACTERS: usize = 100_000;
const ROUNDS: usize = 5;

/// Prints the table.
pub(crate) fn table() {
    let talk = talk();
    let engine = Embedded::new();
    let words: Vec<&str> = talk.lines.iter().map(|line| line.text.as_str()).collect();
    let words = words.join("\n");
    let seconds = || {
        let began = Instant::now();
        block_on(async {
            engine.judge(&talk).await.unwrap();
            engine.describe(&talk, &[]).await.unwrap();
            engine.extract_items(&talk).await.unwrap();
            engine.extract_memories(&talk).await.unwrap();
            engine.embed(&words).await.unwrap();
        });
        began.elapsed().as_secs_f64()
    };
    let taken = median((0..ROUNDS).map(|_| seconds()).collect());
    println!("| embedded engine, {CHARACTERS} characters, median of {ROUNDS} | seconds |\n|---|---|");
    println!("| judge, describe, action items, memories, embedding | {taken:.3} |\n");
}

/// A long talk in which no sentence is quite like another.
fn talk() -> Talk {
    let who = ["Priya", "the landlord", "our accountant", "my cousin", "the new supplier", "Tom"];
    let what = [
        "has to send the drawings by Friday",
        "noticed that the invoices were wrong",
        "will call the bank on Monday",
        "prefers to work from home",
        "needs to repair the roof before the end of the month",
    ];
    let mut text = String::new();
    for number in 0.. {
        if text.len() >= CHARACTERS {
            break;
        }
        text.push_str(&format!(
            "{} {} because of number {number}. ",
            who[number % who.len()],
            what[number % what.len()]
        ));
    }
    text.truncate(CHARACTERS);
    Talk {
        lines: Talk::lines_of_text(&text),
        started_at: Timestamp::from_timestamp(1_770_000_000, 0).unwrap(),
        time_zone: Tz::UTC,
        language: "en".to_owned(),
        user_name: None,
        background: records::Background::default(),
    }
}

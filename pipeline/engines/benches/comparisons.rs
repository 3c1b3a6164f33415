//! How much processor time it takes to find which of 60 new action items repeat one of the kept ones, with texts of 500
//! characters that are full of dates.
//!
//! Run with `cargo bench -p engines --bench comparisons`.

#[path = "../tests/hostile/processor.rs"]
mod processor;

use std::time::Duration;

use engines::Embedded;
use records::SameThing;

/// A task of 500 characters.
fn task(number: usize) -> String {
    let mut text = format!("Send report {number} of project {} to Tom", number * 7);
    let mut at = number;
    while text.len() < 490 {
        text.push_str(&format!(" by Monday {} March at {}pm or room{at} tomorrow", at % 28 + 1, at % 11 + 1));
        at += 13;
    }
    text.truncate(500);
    text
}

/// How long it takes to know `kept` tasks and to look `new` ones up, and how many repeat one.
fn lookup(new: usize, kept: usize, first: usize) -> (Duration, usize) {
    let (new, kept): (Vec<String>, Vec<String>) =
        ((first + kept..first + kept + new).map(task).collect(), (first..first + kept).map(task).collect());
    let began = processor::time();
    let mut known = Embedded::new().tasks();
    kept.iter().for_each(|kept| known.add(kept));
    let found = new.iter().filter(|new| known.find(new).is_some()).count();
    (processor::time().saturating_sub(began), found)
}

fn main() {
    lookup(1, 1, 0);
    println!("the first time, and once more, when all of it was read before:");
    for (at, (new, kept)) in [(60, 500), (120, 1_000), (60, 1_000)].into_iter().enumerate() {
        let first = 10_000 * at;
        let [(cold, found), (warm, _)] = [(); 2].map(|()| lookup(new, kept, first));
        println!("{new:>4} new x {kept:>5} kept: {cold:>9.1?} {warm:>9.1?}  ({found} found)");
    }
}

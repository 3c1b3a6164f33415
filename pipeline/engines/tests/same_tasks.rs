//! Scores the pairs of tasks in `corpus/same_tasks.txt`: duplicates found, and look-alikes kept apart.
//!
//! A missed duplicate is a repetition on a list; a false one is a task that is lost. Hence the floors.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use engines::Embedded;
use stages::SameThing;

const PAIRS: &str = include_str!("../corpus/same_tasks.txt");

fn same_task(one: &str, other: &str) -> bool {
    let mut known = Embedded::new().tasks();
    known.add(one);
    known.find(other).is_some()
}

/// (duplicates found, duplicates, look-alikes kept apart, look-alikes) of a half, printing every mistake.
fn score(half: &str) -> [usize; 4] {
    let mut score = [0; 4];
    for line in PAIRS.lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.split('|').collect();
        if fields[0] != half {
            continue;
        }
        let same = fields[1] == "same";
        let found = same_task(fields[2], fields[3]);
        assert_eq!(found, same_task(fields[3], fields[2]), "the order does not matter");
        let at = if same { 0 } else { 2 };
        score[at] += usize::from(found == same);
        score[at + 1] += 1;
        if found != same {
            println!("{} {} / {}", if same { "MISSED" } else { "FALSE " }, fields[2], fields[3]);
        }
    }
    println!(
        "{half}: {} of {} duplicates, {} of {} look-alikes apart",
        score[0], score[1], score[2], score[3]
    );
    score
}

#[test]
fn duplicates_are_mostly_found_and_look_alikes_stay_apart() {
    for half in ["A", "B", "C"] {
        let [found, duplicates, apart, alike] = score(half);
        assert!(duplicates >= 4 && alike >= 6, "the pairs were read");
        assert!(found + 1 >= duplicates, "{found} of {duplicates} duplicates");
        assert_eq!(apart, alike, "look-alikes that were merged are lost tasks");
    }
}

//! Scores the pairs of tasks in `corpus/same_tasks.txt` and `corpus/spoken_tasks.txt`: duplicates found, and look-alikes
//! kept apart.
//!
//! A missed duplicate is a repetition on a list; a false one is a task that is lost. Hence the floors.

#![allow(clippy::unwrap_used, clippy::expect_used, dead_code, reason = "tests, with parts that others use")]

mod score;

use engines::Embedded;
use records::SameThing;
use score::Share;

const PAIRS: &str = concat!(
    include_str!("../corpus/same_tasks.txt"),
    include_str!("../corpus/spoken_tasks.txt"),
    include_str!("../corpus/unseen_tasks.txt"),
    include_str!("../corpus/everyday_tasks.txt"),
    include_str!("../corpus/mixed_tasks.txt"),
    include_str!("../corpus/voices_tasks.txt"),
    include_str!("../corpus/ordinary_tasks.txt"),
    include_str!("../corpus/sundry_tasks.txt"),
    include_str!("../corpus/daily_tasks.txt"),
    include_str!("../corpus/outside_tasks.txt"),
    include_str!("../corpus/twice_told_tasks.txt")
);

fn same_task(one: &str, other: &str) -> bool {
    let mut known = Embedded::new().tasks();
    known.add(one);
    known.find(other).is_some()
}

/// Duplicates found and look-alikes kept apart of a half, printing every mistake.
fn score(half: &str) -> (Share, Share) {
    let (mut duplicates, mut apart) = (Share::default(), Share::default());
    for line in PAIRS.lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.split('|').collect();
        if fields[0] != half {
            continue;
        }
        let same = fields[1] == "same";
        let found = same_task(fields[2], fields[3]);
        assert_eq!(found, same_task(fields[3], fields[2]), "the order does not matter: {line}");
        if same { &mut duplicates } else { &mut apart }.count(found == same);
        if found != same {
            println!("{} {} / {}", if same { "MISSED" } else { "FALSE " }, fields[2], fields[3]);
        }
    }
    println!("{half}: {duplicates} duplicates found, {apart} look-alikes apart");
    (duplicates, apart)
}

#[test]
fn duplicates_are_mostly_found_and_look_alikes_stay_apart() {
    for (half, floor) in [
        ("A", 75),
        ("B", 87),
        ("C", 87),
        ("O", 95),
        ("P", 92),
        ("Q", 95),
        ("R", 80),
        ("S", 80),
        ("T", 90),
        ("U", 90),
        ("V", 75),
        ("W", 95),
        ("X", 80),
        ("Y", 95),
        ("Z", 66),
        ("K", 95),
        ("L", 91),
        ("G", 90),
        ("H", 83),
        ("I", 58),
        ("J", 16),
        ("M", 90),
        ("N", 46),
    ] {
        let (duplicates, apart) = score(half);
        assert!(duplicates.of >= 4 && apart.of >= 6, "the pairs were read");
        assert!(duplicates.percent() >= floor, "{duplicates} duplicates of half {half}");
        assert_eq!(apart.hits, apart.of, "look-alikes that were merged are lost tasks");
    }
}

//! The events of forty talks, `corpus/coming_up.txt`: how many are found, how many of those listed are right, and how
//! many of those found start at the right hour.
//!
//! `cargo test -p engines --test coming_up -- --nocapture` prints what is read wrongly.

#![allow(clippy::unwrap_used, dead_code, reason = "tests, with parts that others use")]

mod score;

use engines::Embedded;
use futures::executor::block_on;
use records::Talk;
use score::{Share, conversation::holds};
use stages::{Describe, EventDraft};

const TALKS: &str = include_str!("../corpus/coming_up.txt");

fn events(text: &str) -> Vec<EventDraft> {
    let talk = Talk {
        lines: Talk::lines_of_text(text),
        started_at: "2028-03-06T08:00:00Z".parse().unwrap(),
        time_zone: chrono_tz::Tz::UTC,
        language: "en".to_owned(),
        user_name: None,
        background: records::Background::default(),
    };
    block_on(Embedded::new().describe(&talk, &[])).unwrap().events
}

/// Counts what is found, what of that starts at its hour, and what of the events listed is right, of one half.
fn score(half: &str) -> [Share; 3] {
    let [mut found, mut starts, mut right] = [Share::default(); 3];
    for talk in TALKS.split("\n@ ").skip(1).filter(|talk| talk.starts_with(half)) {
        let (head, lines) = talk.split_once('\n').unwrap();
        let (keys, said): (Vec<&str>, Vec<&str>) =
            lines.lines().partition(|line| line.starts_with("= ") || line.starts_with("? "));
        let events = events(&said.join("\n"));
        let is_named =
            |event: &EventDraft, groups: &str| groups.split('|').any(|words| holds(&event.title, words));
        let is = |event: &EventDraft, key: &str| match (key.split_at(2), key.rsplit_once(" | ")) {
            (("= ", _), Some((groups, when))) => {
                let day = when.split(' ').next().unwrap();
                is_named(event, &groups[2..]) && event.start.format("%Y-%m-%d").to_string() == day
            }
            ((_, groups), _) => is_named(event, groups),
        };
        println!("{head}");
        for key in keys.iter().filter(|key| key.starts_with('=')) {
            let event = events.iter().find(|event| is(event, key));
            found.count(event.is_some());
            match event {
                None => println!("  MISSED {key}"),
                Some(event) if key.contains(':') => {
                    let start = event.start.format("%Y-%m-%d %H:%M").to_string();
                    starts.count(key.ends_with(&start));
                    if !key.ends_with(&start) {
                        println!("  START  {key}, {start}");
                    }
                }
                Some(_) => {}
            }
        }
        for event in &events {
            let is_right = keys.iter().any(|key| is(event, key));
            right.count(is_right);
            println!("  {} {} {}", if is_right { "event " } else { "FALSE " }, event.title, event.start);
        }
    }
    println!("{half}: {found} found, {starts} start at their hour, {right} of those listed are right");
    [found, starts, right]
}

#[test]
fn what_is_coming_up_is_mostly_found_and_little_else() {
    for (half, floors) in [("M", [66, 80, 90]), ("N", [67, 73, 86])] {
        let shares = score(half);
        assert!(shares[0].of >= 40, "the talks were read");
        for (share, floor) in shares.into_iter().zip(floors) {
            assert!(share.percent() >= floor, "{share} of half {half}, floor {floor} %");
        }
    }
}

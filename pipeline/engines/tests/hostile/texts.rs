//! Texts that are built to be slow to read, of any length.

use records::{Talk, Timestamp};

/// Makes a text of at least so many characters.
pub(crate) type Make = fn(usize) -> String;

/// Every kind, by name.
pub(crate) const KINDS: [(&str, Make); 18] = [
    ("no spaces", |length| "abcdefghij".repeat(length / 10 + 1)),
    ("digits", |length| "1234567890".repeat(length / 10 + 1)),
    ("digit groups", |length| repeated("12 345 6/7 8:30 ", length)),
    ("dates", |length| repeated("Monday 5 March at 5pm, tomorrow by noon, 2026-03-05, 5/6, ", length)),
    ("punctuation", |length| repeated(".,;:!?-()\"'", length)),
    ("short lines", |length| repeated("a\n", length)),
    ("tasks", |length| numbered(length, |n| format!("I will send report {n} to Tom by Friday.\n"))),
    ("giant line", |length| {
        numbered(length, |n| format!("I will paint fence {n} on Monday and call Tom about wall {n} "))
    }),
    ("brackets", |length| format!("{}{}", "[(<{".repeat(length / 8 + 1), "}>)]".repeat(length / 8 + 1))),
    ("on Monday at 5", |length| repeated("on Monday at 5 ", length)),
    ("marks", |length| repeated("a\u{301}\u{302}\u{303}\u{304}\u{305}\u{306}", length)),
    ("scripts", |length| repeated("я буду 明日は会議 سأتصل غدا I will call 내일 คุณ ", length)),
    ("capitals", |length| repeated("Anna Tom My Your The Our ", length)),
    ("commas", |length| repeated("and then, so, but I will, if we, ", length)),
    ("apostrophes", |length| repeated("don't i'll we've it's ", length)),
    ("the the the", |length| repeated("the last last the for the ", length)),
    ("ways to put a task", |length| {
        repeated(
            "it wouldn't hurt to be worth checking whoever is better off the floor needs a still to do is due back ",
            length,
        )
    }),
    ("joined tasks", |length| {
        numbered(length, |n| {
            format!("Take a picture of meter {n} and send it, and put them up, Tom, will you?\nBy Friday.\n")
        })
    }),
];

fn repeated(part: &str, length: usize) -> String {
    part.repeat(length / part.chars().count() + 1)
}

fn numbered(length: usize, part: impl Fn(usize) -> String) -> String {
    let mut text = String::new();
    for number in 0.. {
        if text.len() >= length {
            break;
        }
        text.push_str(&part(number));
    }
    text
}

pub(crate) fn talk(text: &str) -> Talk {
    let started_at: Timestamp = "2026-11-20T10:00:00Z".parse().unwrap();
    Talk {
        lines: Talk::lines_of_text(text),
        started_at,
        time_zone: chrono_tz::Tz::UTC,
        language: "en".to_owned(),
        user_name: None,
        background: records::Background::default(),
    }
}

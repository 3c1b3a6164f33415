//! Date phrases: `set|phrase|date_lo|date_hi|time_lo|time_hi`, each said as the deadline of a task. A time of `-` is not
//! asked for, and a date of `none` says that no date must be found.

use chrono::{DateTime, NaiveDate, NaiveTime, Utc};
use chrono_tz::Tz;
use futures::executor::block_on;
use records::{Talk, Timestamp};
use stages::ExtractItems;

use super::Share;

struct Phrase<'a> {
    words: &'a str,
    /// The first and the last right day; `None` when no day is right.
    days: Option<(NaiveDate, NaiveDate)>,
    times: Option<(NaiveTime, NaiveTime)>,
}

/// How many of the phrases of `set` in `corpus`, said at `reference`, an engine resolves, printing every mistake.
pub(crate) fn score(engine: &dyn ExtractItems, corpus: &str, set: &str, reference: Timestamp) -> Share {
    let mut score = Share::default();
    for phrase in phrases(corpus, set) {
        let found = due(engine, phrase.words, reference);
        let met = phrase.is_met_by(found);
        score.count(met);
        if !met {
            println!("WRONG {:<36} {found:?}", phrase.words);
        }
    }
    println!("{set}: {score} date phrases");
    score
}

fn phrases<'a>(corpus: &'a str, set: &'a str) -> impl Iterator<Item = Phrase<'a>> {
    let time = |text: &str| NaiveTime::parse_from_str(text, "%H:%M").ok();
    let lines = corpus.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.split('|').collect::<Vec<_>>()).filter(move |fields| fields[0] == set).map(
        move |fields| {
            let day = |text: &str| text.parse::<NaiveDate>().ok();
            Phrase {
                words: fields[1],
                days: day(fields[2]).zip(day(fields[3])),
                times: time(fields[4]).zip(time(fields[5])),
            }
        },
    )
}

fn due(engine: &dyn ExtractItems, phrase: &str, reference: Timestamp) -> Option<DateTime<Utc>> {
    let talk = Talk {
        lines: Talk::lines_of_text(&format!("I will send the report {phrase}.")),
        started_at: reference,
        time_zone: Tz::UTC,
        language: "en".to_owned(),
        user_name: None,
        background: records::Background::default(),
    };
    block_on(engine.extract_items(&talk)).unwrap_or_default().first()?.due_at
}

impl Phrase<'_> {
    fn is_met_by(&self, found: Option<DateTime<Utc>>) -> bool {
        let (Some((first, last)), Some(moment)) = (self.days, found) else {
            return self.days.is_none() && found.is_none();
        };
        (first..=last).contains(&moment.date_naive())
            && self.times.is_none_or(|(low, high)| (low..=high).contains(&moment.time()))
    }
}

//! Whatever is said, at whatever hour, in whatever zone: no panic, spans that lie in the text, bounded time.
//! `PROPTEST_CASES` sets how many texts are tried.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::time::{Duration as Span, Instant};

use chrono::Timelike;
use proptest::prelude::*;

use super::*;

/// What dates are made of, and what only looks like it.
const WORDS: &[&str] = &[
    "by",
    "before",
    "until",
    "due",
    "on",
    "at",
    "in",
    "next",
    "this",
    "last",
    "the",
    "of",
    "every",
    "ago",
    "from",
    "now",
    "monday",
    "Tue",
    "Wednesday's",
    "friday",
    "weekend",
    "today",
    "tomorrow",
    "yesterday",
    "tonight",
    "morning",
    "noon",
    "midnight",
    "afternoon",
    "evening",
    "january",
    "Feb",
    "march",
    "may",
    "sept.",
    "december",
    "1st",
    "2nd",
    "31st",
    "30",
    "0",
    "99",
    "999999999999",
    "2026",
    "0000",
    "9999",
    "day",
    "days",
    "week",
    "weeks",
    "month",
    "months",
    "year",
    "years",
    "hour",
    "hours",
    "minutes",
    "half",
    "past",
    "quarter",
    "to",
    "two",
    "twelve",
    "a",
    "couple",
    "end",
    "3pm",
    "25:61",
    "9:30",
    "12 a.m.",
    "11/31/2026",
    "2026-02-30",
    "29.2.",
    "31/12",
    "-5",
    "couple of",
    "İ",
    "ß",
    "🧠",
    "ſ",
];

fn moments() -> impl Strategy<Value = NaiveDateTime> {
    // Every moment that a request may name, the changes of clocks and the ends of years among them.
    (1i32..=9_999, 1u32..=366, 0u32..86_400).prop_map(|(year, day, second)| {
        let day = NaiveDate::from_yo_opt(year, day).or_else(|| NaiveDate::from_yo_opt(year, 365)).unwrap();
        day.and_time(NaiveTime::from_num_seconds_from_midnight_opt(second, 0).unwrap())
    })
}

fn zones() -> impl Strategy<Value = Tz> {
    prop::sample::select(&chrono_tz::TZ_VARIANTS[..])
}

fn sentences() -> impl Strategy<Value = String> {
    let word = prop_oneof![6 => prop::sample::select(WORDS).prop_map(str::to_owned), 1 => ".{0,6}"];
    let gap = prop::sample::select(&[" ", " ", " ", ", ", "-", "", "\n", "\u{a0}"][..]);
    prop::collection::vec((word, gap), 0..14)
        .prop_map(|parts| parts.into_iter().flat_map(|(word, gap)| [word, gap.to_owned()]).collect())
}

fn check(text: &str, now: NaiveDateTime, zone: Tz) {
    let reference = Reference { now, zone, order: DayOrder::MonthFirst };
    for found in reference.find(text) {
        assert!(!found.spans.is_empty());
        let mut last = 0;
        for span in &found.spans {
            assert!(span.start <= span.end && text.get(span.clone()).is_some(), "{span:?} of {text:?}");
            assert!(span.start >= last, "{:?} of {text:?}", found.spans);
            last = span.start;
        }
        assert!(found.removed_from(text).len() <= text.len() + found.spans.len());
        if let Some(moment) = reference.moment(&found) {
            let local = moment.with_timezone(&zone).naive_local();
            assert!(local >= now - Duration::days(2), "{text:?} at {now} in {zone} was {local}");
            assert!(local.nanosecond() == 0);
        }
    }
    let _found = reference.due(text);
}

proptest! {
    #[test]
    fn any_sentence_of_date_words_is_read(text in sentences(), now in moments(), zone in zones()) {
        check(&text, now, zone);
    }

    #[test]
    fn any_text_is_read(text in "\\PC{0,200}", now in moments(), zone in zones()) {
        check(&text, now, zone);
    }
}

#[test]
fn long_texts_take_bounded_time() {
    let now = NaiveDate::from_ymd_opt(2026, 11, 20).unwrap().and_hms_opt(10, 0, 0).unwrap();
    for part in ["by friday ", "at ", "in 5 ", "3:15", "1", " ", "next next ", "half past ", "31/12/", "-"] {
        let text = part.repeat(100_000 / part.len());
        let begun = Instant::now();
        let _found = Reference { now, zone: Tz::UTC, order: DayOrder::MonthFirst }.find(&text);
        assert!(begun.elapsed() < Span::from_secs(20), "{part:?} took {:?}", begun.elapsed());
    }
}

//! Spans as people name them, on both sides of now.

use chrono::{DateTime, Utc};
use chrono_tz::Tz;

use super::*;
use crate::embedded::dates::DayOrder;

fn span(text: &str, direction: Direction) -> Option<(String, String)> {
    let now: DateTime<Utc> = "2026-11-20T10:00:00Z".parse().ok()?;
    let span = Reference::at(now, Tz::UTC, DayOrder::default()).span(text, direction)?;
    let shown = |moment: Timestamp| moment.format("%m-%d %H:%M").to_string();
    Some((shown(span.start), shown(span.end)))
}

#[test]
fn spans_of_the_past_are_what_people_mean() {
    for (text, start, end) in [
        ("what did I say yesterday?", "11-19 00:00", "11-20 00:00"),
        ("yesterday evening", "11-19 17:00", "11-20 00:00"),
        ("last night", "11-19 18:00", "11-20 04:00"),
        ("6 hours ago", "11-20 03:00", "11-20 05:00"),
        ("two days ago", "11-18 00:00", "11-19 00:00"),
        ("last week", "11-09 00:00", "11-16 00:00"),
        ("over the past two weeks", "11-06 10:00", "11-20 10:01"),
        ("the last 30 days", "10-21 10:00", "11-20 10:01"),
        ("in October", "10-01 00:00", "11-01 00:00"),
        ("in December", "12-01 00:00", "01-01 00:00"),
        ("on Monday", "11-16 00:00", "11-17 00:00"),
        ("on Friday", "11-13 00:00", "11-14 00:00"),
        ("last Wednesday", "11-11 00:00", "11-12 00:00"),
        ("on November 13", "11-13 00:00", "11-14 00:00"),
        ("the 3rd of October", "10-03 00:00", "10-04 00:00"),
        ("between November 10 and November 12", "11-10 00:00", "11-13 00:00"),
        ("from Monday to Wednesday", "11-16 00:00", "11-19 00:00"),
        ("since Monday", "11-16 00:00", "11-20 10:00"),
        ("last month", "10-01 00:00", "11-01 00:00"),
        ("last weekend", "11-14 00:00", "11-16 00:00"),
        ("over the weekend", "11-14 00:00", "11-16 00:00"),
        ("in the first week of November", "11-01 00:00", "11-08 00:00"),
        ("the last week of October", "10-25 00:00", "11-01 00:00"),
        ("at the end of September", "09-21 00:00", "10-01 00:00"),
        ("the first of October", "10-01 00:00", "10-02 00:00"),
        ("on the 5th", "11-05 00:00", "11-06 00:00"),
        ("on 2026-03-04", "03-04 00:00", "03-05 00:00"),
    ] {
        let expected = Some((start.to_owned(), end.to_owned()));
        assert_eq!(span(text, Direction::Past), expected, "{text}");
    }
    assert_eq!(span("what about the budget?", Direction::Past), None);
    assert_eq!(span("may I march on?", Direction::Past), None);
}

#[test]
fn spans_of_the_future_are_what_people_mean() {
    for (text, start, end) in [
        ("due today", "11-20 00:00", "11-21 00:00"),
        ("tomorrow", "11-21 00:00", "11-22 00:00"),
        ("next week", "11-23 00:00", "11-30 00:00"),
        ("on the weekend", "11-21 00:00", "11-23 00:00"),
        ("at the beginning of December", "12-01 00:00", "12-11 00:00"),
        ("this week", "11-16 00:00", "11-23 00:00"),
        ("summarize my week", "11-16 00:00", "11-23 00:00"),
        ("on Monday", "11-23 00:00", "11-24 00:00"),
        ("by Monday", "11-20 10:00", "11-24 00:00"),
        ("before Monday", "11-20 10:00", "11-23 00:00"),
        ("the next 3 days", "11-20 10:00", "11-24 00:00"),
        ("in December", "12-01 00:00", "01-01 00:00"),
    ] {
        let expected = Some((start.to_owned(), end.to_owned()));
        assert_eq!(span(text, Direction::Future), expected, "{text}");
    }
}

//! Spans, traps and changes of clocks; the phrases themselves are in `corpus/dates.txt`.

#![allow(clippy::unwrap_used, reason = "tests")]

use super::*;

fn reference(zone: Tz) -> Reference {
    let now = NaiveDate::from_ymd_opt(2026, 11, 20).unwrap().and_hms_opt(10, 0, 0).unwrap();
    Reference { now, zone, order: DayOrder::MonthFirst }
}

fn due(text: &str) -> Option<String> {
    reference(Tz::UTC).due(text).map(|(_, at)| at.format("%m-%d %H:%M").to_string())
}

#[test]
fn what_only_sounds_like_a_date_is_none() {
    for trap in [
        "The sun was out all afternoon",
        "May I ask who may join?",
        "March through the list",
        "Last Friday we missed the deadline",
        "It took two weeks to arrive",
        "We met yesterday afternoon",
        "I practise every Monday",
        "Three days ago it rained",
        "Pay Nadja by February 30",
        "Pay Anton before June 31st",
        "The archduke was shot on June 28th, 1914",
        "We found the bug in the migration on Friday evening",
    ] {
        assert_eq!(due(trap), None, "{trap}");
    }
}

#[test]
fn strokes_are_read_in_the_order_that_is_set_and_stops_and_dashes_in_the_one_they_have() {
    let day_first = Reference { order: DayOrder::DayFirst, ..reference(Tz::UTC) };
    for (text, month, day) in [
        ("by 5/6", "05-06", "06-05"),
        ("by 5/6/2027", "05-06", "06-05"),
        ("by 25/12", "12-25", "12-25"),
        ("by 12/25", "12-25", "12-25"),
        ("by 2027-06-05", "06-05", "06-05"),
        ("by 5.6.2027", "06-05", "06-05"),
    ] {
        assert_eq!(due(text).as_deref(), Some(format!("{month} 23:59").as_str()), "{text}");
        let found = day_first.due(text).map(|(_, at)| at.format("%m-%d").to_string());
        assert_eq!(found.as_deref(), Some(day), "{text}");
    }
}

#[test]
fn a_day_that_is_said_twice_is_one_date_with_its_hour() {
    let at = due("Come back in three weeks, on the 11th at 9:30");
    assert_eq!(at.as_deref(), Some("12-11 09:30"));
}

#[test]
fn what_is_named_after_a_feast_is_on_the_day_that_is_said() {
    for (text, day) in [
        ("the Christmas party is on Saturday the nineteenth", "12-19 23:59"),
        ("buy the Easter eggs by Thursday", "11-26 23:59"),
        ("call them before Christmas", "12-25 23:59"),
        ("come for Christmas dinner", "12-25 23:59"),
    ] {
        assert_eq!(due(text).as_deref(), Some(day), "{text}");
    }
}

#[test]
fn a_weekday_before_a_date_belongs_to_it() {
    for text in [
        "on Monday the 30th",
        "on Monday, November 30th",
        "by Monday 30 November",
        "on Monday, 30th of November",
    ] {
        assert_eq!(due(text).as_deref(), Some("11-30 23:59"), "{text}");
    }
}

#[test]
fn what_ran_out_then_is_not_due_then() {
    for past in
        ["ours ran out in August", "it expired on Monday", "he left on Tuesday", "we met on the 12th of May"]
    {
        assert_eq!(due(past), None, "{past}");
    }
    assert_eq!(due("the bill must be sent on Monday").as_deref(), Some("11-23 23:59"));
}

#[test]
fn a_deadline_wins_over_the_date_of_its_subject() {
    assert_eq!(due("send the notes of Monday's lecture by Wednesday").as_deref(), Some("11-25 23:59"));
}

#[test]
fn a_time_finds_its_day_and_a_bare_time_the_next_such_hour() {
    assert_eq!(due("meet at 3 on Tuesday").as_deref(), Some("11-24 15:00"));
    assert_eq!(due("call her at 9:30").as_deref(), Some("11-21 09:30"));
    assert_eq!(due("call her at half past two").as_deref(), Some("11-20 14:30"));
}

#[test]
fn a_number_of_things_is_no_hour_and_one_of_two_hours_is() {
    let quote = "get a quote from three or four roofers by Wednesday";
    assert_eq!(due(quote).as_deref(), Some("11-25 23:59"));
    assert_eq!(due("be there from three or four on Wednesday").as_deref(), Some("11-25 15:00"));
}

#[test]
fn a_date_that_is_long_past_is_dropped() {
    assert_eq!(due("sign it by November 3rd"), None);
    assert_eq!(due("sign it by November 18"), None);
    assert_eq!(due("sign it by November 19").as_deref(), Some("11-19 23:59"), "not more than a day ago");
}

#[test]
fn local_times_are_resolved_in_the_persons_zone() {
    let berlin = reference(chrono_tz::Europe::Berlin);
    let (_, at) = berlin.due("pay by Friday").unwrap();
    assert_eq!(at.to_rfc3339(), "2026-11-27T22:59:00+00:00");
}

#[test]
fn a_time_that_a_change_of_clocks_skips_is_taken_an_hour_later() {
    let zone = chrono_tz::America::New_York;
    let (_, at) = reference(zone).due("restart it on 2027-03-14 at 2:30 am").unwrap();
    assert_eq!(at.with_timezone(&zone).format("%H:%M").to_string(), "03:30");
}

#[test]
fn the_words_of_a_date_can_be_taken_out() {
    let text = "Email Hannah the draft by noon tomorrow please";
    let (found, _) = reference(Tz::UTC).due(text).unwrap();
    assert_eq!(
        found.removed_from(text).split_whitespace().collect::<Vec<_>>().join(" "),
        "Email Hannah the draft please"
    );
}

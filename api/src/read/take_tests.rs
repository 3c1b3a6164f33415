//! Single values against the answers that FastAPI gives (types, places and messages to the letter).
#![allow(clippy::panic, reason = "a test may fail loudly")]

use serde_json::{Value, json};

use super::*;
use crate::error::Problem;

/// The whole `detail` of reading `value` as field `x` of a body.
fn refused<T: Take>(take: T, value: Value) -> Value {
    let mut report = Report::of("body");
    let taken = report.at("x", |report| take.take(&value, report));
    match report.finish(taken) {
        Ok(_) => panic!("{value} was taken"),
        Err(problems) => problems.iter().map(Problem::shape).collect(),
    }
}

fn taken<T: Take>(take: T, value: Value) -> T::Out {
    let mut report = Report::of("body");
    let taken = take.take(&value, &mut report);
    report.finish(taken).unwrap_or_else(|problems| panic!("{value} was refused: {problems:?}"))
}

#[track_caller]
fn assert_refused<T: Take>(take: T, value: Value, kind: &str, msg: &str) {
    let found = refused(take, value);
    assert_eq!(found[0]["type"], kind, "{found}");
    assert_eq!(found[0]["msg"], msg, "{found}");
    assert_eq!(found[0]["loc"], json!(["body", "x"]));
    assert!(found[0].get("input").is_none(), "what was sent is never echoed");
}

#[test]
fn strings_are_bounded_in_code_points() {
    let title = Text::between(1, 3);
    for wrong in [json!(null), json!(1), json!(true), json!([])] {
        assert_refused(title, wrong, "string_type", "Input should be a valid string");
    }
    assert_refused(title, json!(""), "string_too_short", "String should have at least 1 character");
    assert_refused(title, json!("four"), "string_too_long", "String should have at most 3 characters");
    assert_refused(
        Text::between(2, 3),
        json!("a"),
        "string_too_short",
        "String should have at least 2 characters",
    );
    assert_eq!(refused(title, json!("four"))[0]["ctx"], json!({ "max_length": 3 }));
    assert_eq!(taken(title, json!("🧠🧠🧠")), "🧠🧠🧠");
    assert_refused(title, json!("a\0"), "value_error", "Value error, the character U+0000 is not allowed");
}

#[test]
fn names_are_of_one_line() {
    let name = Text::name();
    for wrong in ["a\nb", "a\r", "\tb", "a\u{1b}b", "a\u{85}b", "a\u{2028}b"] {
        let msg = "Value error, line breaks and control characters are not allowed";
        assert_refused(name, json!(wrong), "value_error", msg);
    }
    for right in [" ", "Zoë", "\u{200f}א"] {
        assert_eq!(taken(name, json!(right)), right);
    }
}

#[test]
fn integers_are_parsed_as_pydantic_does() {
    let any = Int::between(-9_999, 9_999);
    for (sent, number) in [
        (json!(5), 5),
        (json!("5"), 5),
        (json!("5.0"), 5),
        (json!(" 5 "), 5),
        (json!("+5"), 5),
        (json!("-5"), -5),
        (json!("1_000"), 1_000),
        (json!(5.0), 5),
        (json!(true), 1),
    ] {
        assert_eq!(taken(any, sent), number);
    }
    let parsing = "Input should be a valid integer, unable to parse string as an integer";
    for wrong in ["5.5", "1e3", "0x10", "", "-", "1__0", "_1", "five"] {
        assert_refused(any, json!(wrong), "int_parsing", parsing);
    }
    assert_refused(
        any,
        json!(1.5),
        "int_from_float",
        "Input should be a valid integer, got a number with a fractional part",
    );
    assert_refused(any, json!(null), "int_type", "Input should be a valid integer");
    assert_refused(any, json!([1]), "int_type", "Input should be a valid integer");
}

#[test]
fn bound_errors_name_the_bound_in_message_and_context() {
    let limit = Int::between(1, 100);
    assert_refused(limit, json!(0), "greater_than_equal", "Input should be greater than or equal to 1");
    assert_refused(limit, json!(101), "less_than_equal", "Input should be less than or equal to 100");
    assert_refused(
        limit,
        json!("99999999999999999999"),
        "less_than_equal",
        "Input should be less than or equal to 100",
    );
    assert_eq!(refused(limit, json!(0))[0]["ctx"], json!({ "ge": 1 }));
    let latitude = Float::between(-90.0, 90.0);
    assert_refused(latitude, json!(90.5), "less_than_equal", "Input should be less than or equal to 90");
    assert_refused(
        latitude,
        json!(-91),
        "greater_than_equal",
        "Input should be greater than or equal to -90",
    );
}

#[test]
fn numbers_are_parsed_leniently_and_must_be_finite() {
    let any = Float::between(f64::MIN, f64::MAX);
    for (sent, number) in [
        (json!(1), 1.0),
        (json!("1.5"), 1.5),
        (json!("1e3"), 1_000.0),
        (json!(" 1 "), 1.0),
        (json!(".5"), 0.5),
        (json!("5."), 5.0),
        (json!("1_000.5_0"), 1_000.5),
        (json!("-_1"), -1.0),
        (json!(true), 1.0),
    ] {
        assert_eq!(taken(any, sent), number);
    }
    for wrong in ["nan", "inf", "-inf"] {
        assert_refused(any, json!(wrong), "finite_number", "Input should be a finite number");
    }
    let parsing = "Input should be a valid number, unable to parse string as a number";
    for wrong in ["", "_1", "1_", "1__0", "1 0"] {
        assert_refused(any, json!(wrong), "float_parsing", parsing);
    }
    assert_refused(any, json!(null), "float_type", "Input should be a valid number");
}

#[test]
fn booleans_accept_pydantics_words_only() {
    for sent in [
        json!(true),
        json!(1),
        json!(1.0),
        json!("1"),
        json!("TRUE"),
        json!("t"),
        json!("Yes"),
        json!("y"),
        json!("on"),
    ] {
        assert!(taken(Bool, sent));
    }
    for sent in [
        json!(false),
        json!(0),
        json!("0"),
        json!("False"),
        json!("f"),
        json!("no"),
        json!("n"),
        json!("off"),
    ] {
        assert!(!taken(Bool, sent));
    }
    let unclear = "Input should be a valid boolean, unable to interpret input";
    for wrong in [json!(2), json!(""), json!(" true"), json!("maybe")] {
        assert_refused(Bool, wrong, "bool_parsing", unclear);
    }
    for whole in [json!(i64::MAX), json!(i64::MIN), json!(-2.0)] {
        assert_refused(Bool, whole, "bool_parsing", unclear);
    }
    for wrong in [json!(0.5), json!(null), json!([]), json!(1u64 << 63), json!(u64::MAX), json!(-1e30)] {
        assert_refused(Bool, wrong, "bool_type", "Input should be a valid boolean");
    }
}

#[test]
fn datetimes_are_parsed_as_pydantic_does() {
    for (sent, expected) in [
        (json!("2024-01-02T03:04:05Z"), "2024-01-02T03:04:05+00:00"),
        (json!("2024-01-02t03:04:05.123456789+01:00"), "2024-01-02T02:04:05.123456+00:00"),
        (json!("2024-01-02 03:04"), "2024-01-02T03:04:00+00:00"),
        (json!("2024-01-02_03:04:05-0130"), "2024-01-02T04:34:05+00:00"),
        (json!("2024-01-02"), "2024-01-02T00:00:00+00:00"),
        (json!(1_704_164_645), "2024-01-02T03:04:05+00:00"),
        (json!("1704164645000"), "2024-01-02T03:04:05+00:00"),
        (json!(1_704_164_645.5), "2024-01-02T03:04:05.500+00:00"),
    ] {
        assert_eq!(taken(Moment, sent).at.to_rfc3339(), expected);
    }
    let day = taken(Moment, json!("2024-01-02"));
    assert_eq!(day.end().to_rfc3339(), "2024-01-02T23:59:59.999999+00:00");
    let noon = taken(Moment, json!("2024-01-02T12:00:00Z"));
    assert_eq!(noon.end(), noon.at);
}

#[test]
fn invalid_datetime_has_the_date_parsers_reason() {
    for (sent, reason) in [
        ("", "input is too short"),
        ("yesterday, noon", "invalid character in year"),
        ("2024-13-01T00:00:00Z", "month value is outside expected range of 1-12"),
        ("2024-02-30", "day value is outside expected range"),
        ("2024/01/01", "invalid date separator, expected `-`"),
        ("2024-01-01T25:00:00Z", "unexpected extra characters at the end of the input"),
        ("2024-01-01T10", "unexpected extra characters at the end of the input"),
        ("20240101T000000Z", "invalid date separator, expected `-`"),
        ("99999999999999999", "dates after 9999 are not supported as unix timestamps"),
    ] {
        let msg = format!("Input should be a valid datetime or date, {reason}");
        assert_refused(Moment, json!(sent), "datetime_from_date_parsing", &msg);
        assert_eq!(refused(Moment, json!(sent))[0]["ctx"], json!({ "error": reason }));
    }
    let zero = "Input should be a valid datetime, year 0 is out of range";
    assert_refused(Moment, json!("0000-01-01T00:00:00Z"), "datetime_parsing", zero);
    let large = "Input should be a valid datetime, dates after 9999 are not supported as unix timestamps";
    assert_refused(Moment, json!(99_999_999_999_999_999_i64), "datetime_parsing", large);
    for wrong in [json!(true), json!(null), json!([])] {
        assert_refused(Moment, wrong, "datetime_type", "Input should be a valid datetime");
    }
}

#[test]
fn enum_errors_name_the_allowed_values() {
    let kinds = || Choice::of(["a", "b", "c"].map(|name| (name, name)));
    assert_refused(kinds(), json!("d"), "enum", "Input should be 'a', 'b' or 'c'");
    assert_eq!(refused(kinds(), json!(1))[0]["ctx"], json!({ "expected": "'a', 'b' or 'c'" }));
    assert_refused(Choice::of([("x", ())]), json!("y"), "enum", "Input should be 'x'");
    assert_refused(CommaSeparated(kinds()), json!("a,d"), "enum", "Input should be 'a', 'b' or 'c'");
    assert_eq!(taken(CommaSeparated(kinds()), json!("a, c,")), ["a", "c"]);
}

#[test]
fn list_length_is_checked_before_items_are_read() {
    let list = || ListOf { item: Bool, min: 1, max: 2 };
    assert_refused(list(), json!({}), "list_type", "Input should be a valid list");
    assert_refused(
        list(),
        json!([]),
        "too_short",
        "List should have at least 1 item after validation, not 0",
    );
    assert_refused(
        list(),
        json!([9, 9, 9]),
        "too_long",
        "List should have at most 2 items after validation, not 3",
    );
    let ctx = json!({ "field_type": "List", "max_length": 2, "actual_length": 3 });
    assert_eq!(refused(list(), json!([9, 9, 9]))[0]["ctx"], ctx);
    assert_eq!(refused(list(), json!([9, true]))[0]["loc"], json!(["body", "x", 0]));
}

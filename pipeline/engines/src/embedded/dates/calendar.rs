//! Arithmetic on days, weeks and months.

use chrono::{Datelike, Duration, Months, NaiveDate, Weekday};

/// The next `weekday` strictly after `day`: "by Friday", said on a Friday, is a week away.
pub(super) fn following(day: NaiveDate, weekday: Weekday) -> NaiveDate {
    let ahead = (7 + weekday.num_days_from_monday() - day.weekday().num_days_from_monday()) % 7;
    day + Duration::days(if ahead == 0 { 7 } else { i64::from(ahead) })
}

/// `weekday` of the Monday-to-Sunday week that is `weeks` after the one of `day`.
pub(super) fn in_week(day: NaiveDate, weeks: i64, weekday: Weekday) -> NaiveDate {
    let monday = day - Duration::days(i64::from(day.weekday().num_days_from_monday()));
    monday + Duration::days(7 * weeks + i64::from(weekday.num_days_from_monday()))
}

/// The last day of the month that is `months` after the one of `day`.
pub(super) fn month_end(day: NaiveDate, months: u32) -> Option<NaiveDate> {
    month_start(day, months + 1)?.pred_opt()
}

/// The first day of the month that is `months` after the one of `day`.
pub(super) fn month_start(day: NaiveDate, months: u32) -> Option<NaiveDate> {
    day.with_day(1)?.checked_add_months(Months::new(months))
}

/// The last day of the quarter that is `quarters` after the one of `day`.
pub(super) fn quarter_end(day: NaiveDate, quarters: u32) -> Option<NaiveDate> {
    month_end(day, 2 - day.month0() % 3 + 3 * quarters)
}

/// The last day of the year that is `years` after the one of `day`.
pub(super) fn year_end(day: NaiveDate, years: i32) -> Option<NaiveDate> {
    NaiveDate::from_ymd_opt(day.year() + years, 12, 31)
}

/// The next day that is the `number`th of its month, today included.
pub(super) fn day_of_month(day: NaiveDate, number: u32) -> Option<NaiveDate> {
    (0..4).filter_map(|months| month_start(day, months)?.with_day(number)).find(|candidate| *candidate >= day)
}

/// A day without a year is the nearest one ahead; one that was at most a month ago is meant as past.
pub(super) fn of_year(day: NaiveDate, year: Option<i32>, month: u32, number: u32) -> Option<NaiveDate> {
    if let Some(year) = year {
        return NaiveDate::from_ymd_opt(if year < 100 { 2000 + year } else { year }, month, number);
    }
    let recently = day - Duration::days(31);
    (day.year()..day.year() + 5)
        .filter_map(|year| NaiveDate::from_ymd_opt(year, month, number))
        .find(|candidate| *candidate >= recently)
}

/// The weekday that a name or its abbreviation begins.
pub(super) fn weekday(name: &str) -> Option<Weekday> {
    name.get(..3)?.parse().ok()
}

/// The number of the month that a name or its abbreviation begins.
pub(super) fn month(name: &str) -> Option<u32> {
    name.get(..3)?.parse::<chrono::Month>().ok().map(|month| month.number_from_month())
}

/// Numbers below a hundred in words or digits; "a couple" is two, "a few" three.
pub(in crate::embedded) fn number(words: &str) -> Option<i64> {
    let words = words.trim().trim_end_matches(" of");
    match words {
        "a" | "an" => return Some(1),
        "a couple" | "couple" | "the couple" => return Some(2),
        "a few" | "few" | "the few" => return Some(3),
        _ => {}
    }
    let written = match words.split_once(['-', ' ']) {
        Some((ten, unit)) => tens(ten).zip(below_twenty(unit)).map(|(ten, unit)| ten + unit),
        None => number_word(words),
    };
    written.and_then(|number| i64::try_from(number).ok()).or_else(|| words.parse().ok())
}

/// A number below twenty, or of tens below a hundred, in one word.
pub(in crate::embedded) fn number_word(word: &str) -> Option<usize> {
    tens(word).or_else(|| below_twenty(word))
}

fn tens(word: &str) -> Option<usize> {
    TENS.iter().position(|known| *known == word).map(|at| 10 * (at + 2))
}

fn below_twenty(word: &str) -> Option<usize> {
    UNITS.iter().position(|known| *known == word).map(|at| at + 1)
}

const UNITS: [&str; 19] = [
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
];
const TENS: [&str; 8] = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];

/// Easter Sunday of a year (Gauss, as corrected for the Gregorian calendar).
pub(super) fn easter(year: i32) -> Option<NaiveDate> {
    let (a, b, c) = (year % 19, year / 100, year % 100);
    let h = (19 * a + b - b / 4 - (b - (b + 8) / 25 + 1) / 3 + 15) % 30;
    let l = (32 + 2 * (b % 4) + 2 * (c / 4) - h - c % 4) % 7;
    let n = h + l - 7 * ((a + 11 * h + 22 * l) / 451) + 114;
    NaiveDate::from_ymd_opt(year, u32::try_from(n / 31).ok()?, u32::try_from(n % 31 + 1).ok()?)
}

/// "first" to "thirty-first", or digits.
pub(super) fn ordinal(words: &str) -> Option<u32> {
    const NAMES: [&str; 20] = [
        "first",
        "second",
        "third",
        "fourth",
        "fifth",
        "sixth",
        "seventh",
        "eighth",
        "ninth",
        "tenth",
        "eleventh",
        "twelfth",
        "thirteenth",
        "fourteenth",
        "fifteenth",
        "sixteenth",
        "seventeenth",
        "eighteenth",
        "nineteenth",
        "twentieth",
    ];
    let below =
        |name: &str| NAMES.iter().position(|known| *known == name).and_then(|at| u32::try_from(at + 1).ok());
    match words.split_once(['-', ' ']) {
        Some(("twenty", unit)) => below(unit).filter(|unit| *unit < 10).map(|unit| 20 + unit),
        Some(("thirty", "first")) => Some(31),
        _ if words == "thirtieth" => Some(30),
        _ => below(words).or_else(|| words.parse().ok()),
    }
}

//! Dates that a model reports: it says which words name a date, and what local date and time they mean, counted
//! from when the talk began, but never a moment. Here that is put into the person's time zone.

use chrono::{DateTime, Duration, NaiveDate, NaiveDateTime, TimeZone, Utc};
use records::{Talk, Timestamp};

use crate::start_of_day;

/// The last minute of the day, for a task's date without a time.
const END_OF_DAY: (u32, u32) = (23, 59);

/// When a task is due, of `local`, a date or time of the talk's time zone. The model must name `words` for it; whether
/// they were really said is not checked.
pub(super) fn due(words: Option<&str>, local: Option<&str>, talk: &Talk) -> Option<Timestamp> {
    resolve(words, local, talk, |date| date.and_hms_opt(END_OF_DAY.0, END_OF_DAY.1, 0))
}

/// When an event starts.
pub(super) fn start(words: Option<&str>, local: Option<&str>, talk: &Talk) -> Option<Timestamp> {
    let now = talk.started_at.with_timezone(&talk.time_zone).naive_local();
    resolve(words, local, talk, |date| start_of_day(date, now))
}

fn resolve(
    words: Option<&str>,
    local: Option<&str>,
    talk: &Talk,
    of_day: impl Fn(NaiveDate) -> Option<NaiveDateTime>,
) -> Option<Timestamp> {
    const TIMES: [&str; 4] = ["%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S"];
    words.filter(|words| !words.trim().is_empty())?;
    let local = local?.trim();
    let time = TIMES.iter().find_map(|form| NaiveDateTime::parse_from_str(local, form).ok());
    to_utc(time.or_else(|| of_day(NaiveDate::parse_from_str(local, "%Y-%m-%d").ok()?))?, talk)
}

/// A local time that a change of clocks skips is taken an hour later; one that comes twice, the first time.
fn to_utc(local: NaiveDateTime, talk: &Talk) -> Option<Timestamp> {
    let at = |local| talk.time_zone.from_local_datetime(&local).earliest();
    at(local)
        .or_else(|| at(local.checked_add_signed(Duration::hours(1))?))
        .map(|moment: DateTime<_>| moment.with_timezone(&Utc))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]
mod tests {
    use super::*;

    /// A talk on Friday, 27 March 2026, 11:00 in Berlin, two days before the clocks go forward.
    fn talk() -> Talk {
        Talk {
            lines: vec![],
            started_at: Utc.with_ymd_and_hms(2026, 3, 27, 10, 0, 0).unwrap(),
            time_zone: chrono_tz::Europe::Berlin,
            language: "en".to_owned(),
            user_name: None,
            background: records::Background::default(),
        }
    }

    fn text(moment: Option<Timestamp>) -> Option<String> {
        moment.map(|moment| moment.format("%Y-%m-%dT%H:%M").to_string())
    }

    fn due(words: Option<&str>, local: Option<&str>) -> Option<String> {
        text(super::due(words, local, &talk()))
    }

    #[test]
    fn event_on_a_day_without_an_hour_starts_at_nine_or_with_the_next_hour() {
        for (local, expected) in [
            ("2026-03-28", "2026-03-28T08:00"),
            ("2026-03-30", "2026-03-30T07:00"),
            ("2026-03-27", "2026-03-27T11:00"),
            ("2026-03-28T17:30", "2026-03-28T16:30"),
        ] {
            assert_eq!(text(start(Some("then"), Some(local), &talk())).as_deref(), Some(expected), "{local}");
        }
    }

    #[test]
    fn local_times_become_moments_of_the_persons_time_zone() {
        for (local, expected) in [
            ("2026-03-27T17:30", Some("2026-03-27T16:30")),
            ("2026-03-30 09:00:00", Some("2026-03-30T07:00")),
            ("2026-03-28", Some("2026-03-28T22:59")),
            ("2026-03-29T02:30", Some("2026-03-29T01:30")),
            ("2026-10-25T02:30", Some("2026-10-25T00:30")),
        ] {
            assert_eq!(due(Some("then"), Some(local)).as_deref(), expected, "{local}");
        }
    }

    #[test]
    fn what_nobody_said_and_what_is_no_date_is_dropped() {
        assert_eq!(due(None, Some("2026-03-28")), None);
        assert_eq!(due(Some(" "), Some("2026-03-28")), None);
        assert_eq!(due(Some("then"), None), None);
        for local in ["2026-02-30", "tomorrow", "", "2026-03-28T25:00", "-1"] {
            assert_eq!(due(Some("then"), Some(local)), None, "{local}");
        }
    }
}

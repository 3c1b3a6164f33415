//! Moments and lengths of time, as commands and the console show and read them.

use chrono::SecondsFormat;
use records::Timestamp;

/// A moment, to the millisecond.
pub(crate) fn time(at: Timestamp) -> String {
    at.to_rfc3339_opts(SecondsFormat::Millis, true)
}

/// A length of time as it may be typed: in its largest whole unit.
pub(crate) fn spoken(age: chrono::Duration) -> String {
    let seconds = age.num_seconds();
    let units = [(86_400, "d"), (3_600, "h"), (60, "m")];
    let whole = units.iter().find(|(length, _)| seconds > 0 && seconds % length == 0);
    whole.map_or_else(|| format!("{seconds}s"), |(length, unit)| format!("{}{unit}", seconds / length))
}

/// The longest length of time that may be meant, in days: a century back from now is a moment in every calendar there is.
const LONGEST_AGE: i64 = 36_500;

/// A length of time: a number and its unit. One that reaches further back than a century is refused, and never cut or left out:
/// without its bound a filter would mean everything.
pub(crate) fn age(text: &str) -> Result<chrono::Duration, String> {
    let wrong = || "a number and s, m, h or d, for example 15m".to_owned();
    let (number, unit) = text.split_at_checked(text.len().saturating_sub(1)).ok_or_else(wrong)?;
    let number: i64 = number.parse().map_err(|_| wrong())?;
    let too_long = || format!("at most {LONGEST_AGE}d");
    let seconds = match unit {
        "s" => Some(number),
        "m" => number.checked_mul(60),
        "h" => number.checked_mul(3_600),
        "d" => number.checked_mul(86_400),
        _ => return Err(wrong()),
    };
    match seconds {
        _ if number < 0 => Err(wrong()),
        Some(seconds) if seconds <= LONGEST_AGE * 86_400 => Ok(chrono::Duration::seconds(seconds)),
        _ => Err(too_long()),
    }
}

/// How long ago `at` was, or how far ahead it is, in two letters' precision.
pub(crate) fn ago(at: Timestamp, now: Timestamp) -> String {
    let (seconds, ahead) = match (now - at).num_seconds() {
        past @ 0.. => (past, false),
        future => (-future, true),
    };
    let text = match seconds {
        0..=119 => format!("{seconds}s"),
        120..=7_199 => format!("{}m", seconds / 60),
        7_200..=172_799 => format!("{}h", seconds / 3_600),
        _ => format!("{}d", seconds / 86_400),
    };
    if ahead { format!("in {text}") } else { text }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    #[test]
    fn age_is_a_number_and_a_unit() {
        assert_eq!(age("90s").unwrap().num_seconds(), 90);
        assert_eq!(age("2h").unwrap().num_minutes(), 120);
        assert_eq!(age("7d").unwrap().num_hours(), 168);
        for wrong in ["", "7", "d", "-1d", "7w", "1.5h", "999999999999999999d", "ä"] {
            assert!(age(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn age_over_a_century_is_refused_in_every_unit() {
        assert_eq!(age("36500d").unwrap().num_days(), 36_500);
        for wrong in ["36501d", "3153600001s", "3000000d", "100000000d", "9223372036854775807d"] {
            assert_eq!(age(wrong), Err("at most 36500d".to_owned()), "{wrong}");
        }
    }

    #[test]
    fn age_is_printed_in_its_input_form() {
        for text in ["90s", "15m", "2h", "7d", "0s"] {
            assert_eq!(spoken(age(text).unwrap()), text);
        }
    }

    #[test]
    fn times_are_printed_relative_to_now() {
        let now = Timestamp::UNIX_EPOCH + chrono::Duration::days(9);
        let back = |seconds| ago(now - chrono::Duration::seconds(seconds), now);
        assert_eq!([back(5), back(300), back(7_300), back(200_000)], ["5s", "5m", "2h", "2d"]);
        assert_eq!(ago(now + chrono::Duration::seconds(30), now), "in 30s");
    }
}

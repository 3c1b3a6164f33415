//! The `Retry-After` header (RFC 9110, 10.2.3): seconds, or one of three forms of date.

use std::time::Duration;

use chrono::{DateTime, NaiveDateTime, Utc};

/// The longest wait that a server may ask for (DECISIONS §6).
pub const MAX_RETRY_AFTER: Duration = Duration::from_secs(24 * 60 * 60);

/// How long after `now` the server wants to be left alone, at most [`MAX_RETRY_AFTER`]; a date that has
/// passed is no wait at all. `None` when the value is neither form.
pub fn retry_after(value: &str, now: DateTime<Utc>) -> Option<Duration> {
    let value = value.trim();
    let asked = if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
        // More digits than a number holds still mean "long".
        Duration::from_secs(value.parse().unwrap_or(u64::MAX))
    } else {
        (http_date(value)? - now).to_std().unwrap_or(Duration::ZERO)
    };
    Some(asked.min(MAX_RETRY_AFTER))
}

/// Reads the preferred form and the two obsolete ones, which recipients must still take (RFC 9110, 5.6.7).
fn http_date(value: &str) -> Option<DateTime<Utc>> {
    const OBSOLETE: [&str; 2] = ["%A, %d-%b-%y %H:%M:%S GMT", "%a %b %e %H:%M:%S %Y"];
    let preferred = DateTime::parse_from_rfc2822(value).ok().map(|date| date.to_utc());
    preferred.or_else(|| {
        OBSOLETE
            .iter()
            .find_map(|form| NaiveDateTime::parse_from_str(value, form).ok())
            .map(|date| date.and_utc())
    })
}

#[cfg(test)]
mod tests {
    use chrono::TimeZone;

    use super::*;

    fn at(hour: u32) -> DateTime<Utc> {
        Utc.with_ymd_and_hms(1994, 11, 6, hour, 49, 37).single().unwrap_or_default()
    }

    #[test]
    fn retry_after_reads_seconds_and_three_date_formats() {
        let hour = Some(Duration::from_secs(3600));
        for value in [
            "3600",
            " 3600 ",
            "Sun, 06 Nov 1994 08:49:37 GMT",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994",
        ] {
            assert_eq!(retry_after(value, at(7)), hour, "{value}");
        }
    }

    #[test]
    fn retry_after_is_between_zero_and_a_day() {
        assert_eq!(retry_after("Sun, 06 Nov 1994 08:49:37 GMT", at(9)), Some(Duration::ZERO));
        assert_eq!(retry_after("0", at(9)), Some(Duration::ZERO));
        for value in ["86401", "99999999999999999999999999", "Sat, 06 Nov 2094 08:49:37 GMT"] {
            assert_eq!(retry_after(value, at(9)), Some(MAX_RETRY_AFTER), "{value}");
        }
    }

    #[test]
    fn retry_after_of_another_form_is_ignored() {
        for value in ["", "soon", "-1", "1.5", "+3", "1e3", "3600s", "Sun, 32 Nov 1994 08:49:37 GMT", "٣"] {
            assert_eq!(retry_after(value, at(7)), None, "{value}");
        }
    }
}

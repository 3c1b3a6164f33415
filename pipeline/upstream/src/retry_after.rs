//! How long a server asks to be left alone: `retry-after-ms` where it is that precise, else `Retry-After` in seconds or as
//! one of three forms of date (RFC 9110, 10.2.3), read against the server's own `Date`.

use std::time::Duration;

use chrono::{DateTime, NaiveDateTime, Utc};
use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};

/// The wait that `headers` ask for; a date that has passed is no wait at all.
pub fn asked_for(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let millis = text("retry-after-ms").and_then(|value| value.parse::<f64>().ok());
    if let Some(wait) = millis.and_then(|millis| Duration::try_from_secs_f64(millis / 1_000.0).ok()) {
        return Some(wait);
    }
    let value = text(RETRY_AFTER.as_str())?;
    if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
        // More digits than a number holds still mean "long".
        return Some(Duration::from_secs(value.parse().unwrap_or(u64::from(u32::MAX))));
    }
    let asked = http_date(value)? - http_date(text(DATE.as_str())?)?;
    Some(asked.to_std().unwrap_or(Duration::ZERO))
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
    use reqwest::header::{HeaderName, HeaderValue};

    use super::*;

    fn wait_of(headers: &[(&str, &str)]) -> Option<Duration> {
        let entries = headers.iter().filter_map(|(name, value)| {
            let name = HeaderName::try_from(*name).ok()?;
            Some((name, HeaderValue::try_from(*value).ok()?))
        });
        asked_for(&entries.collect())
    }

    #[test]
    fn upstream_retry_after_reads_seconds_milliseconds_and_dates() {
        assert_eq!(wait_of(&[("retry-after", "7")]), Some(Duration::from_secs(7)));
        assert_eq!(
            wait_of(&[("retry-after-ms", "250.5"), ("retry-after", "1")]),
            Some(Duration::from_micros(250_500))
        );
        assert_eq!(
            wait_of(&[("retry-after", "99999999999999999999999999")]).map(|wait| wait.as_secs()),
            Some(u32::MAX.into())
        );
        let date = ("date", "Sun, 06 Nov 1994 08:49:37 GMT");
        for value in
            ["Sun, 06 Nov 1994 08:50:37 GMT", "Sunday, 06-Nov-94 08:50:37 GMT", "Sun Nov  6 08:50:37 1994"]
        {
            assert_eq!(wait_of(&[date, ("retry-after", value)]), Some(Duration::from_secs(60)), "{value}");
        }
        assert_eq!(wait_of(&[date, ("retry-after", "Sun, 06 Nov 1994 07:50:37 GMT")]), Some(Duration::ZERO));
    }

    #[test]
    fn retry_after_of_another_form_is_ignored() {
        let date = ("date", "Sun, 06 Nov 1994 08:49:37 GMT");
        for value in ["", "soon", "-1", "1.5", "+3", "1e3", "3600s", "Sun, 32 Nov 1994 08:49:37 GMT"] {
            assert_eq!(wait_of(&[date, ("retry-after", value)]), None, "{value}");
        }
        assert_eq!(wait_of(&[("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT")]), None, "by whose clock?");
        assert_eq!(wait_of(&[("retry-after-ms", "NaN")]), None);
        assert_eq!(wait_of(&[]), None);
    }
}

//! How long a model server asks to be left alone: `retry-after-ms` where a server is that precise, else
//! `Retry-After` in seconds or as a date (RFC 9110, 10.2.3), read against the server's own `Date`.

use std::time::Duration;

use chrono::DateTime;
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
    let date = |value: &str| DateTime::parse_from_rfc2822(value).ok();
    let asked = date(value)? - date(text(DATE.as_str())?)?;
    Some(asked.to_std().unwrap_or(Duration::ZERO))
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
        let date = ("date", "Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(
            wait_of(&[date, ("retry-after", "Sun, 06 Nov 1994 08:50:37 GMT")]),
            Some(Duration::from_secs(60))
        );
        assert_eq!(wait_of(&[date, ("retry-after", "Sun, 06 Nov 1994 07:50:37 GMT")]), Some(Duration::ZERO));
    }

    #[test]
    fn retry_after_of_another_form_is_ignored() {
        for value in ["", "soon", "-1", "1.5", "Sun, 06 Nov 1994 08:49:37 GMT"] {
            assert_eq!(wait_of(&[("retry-after", value)]), None, "{value}");
        }
        assert_eq!(wait_of(&[("retry-after-ms", "NaN")]), None);
        assert_eq!(wait_of(&[]), None);
    }
}

//! What will go: announced on every answer of the route, six months ahead (DECISIONS §3, "deprecation").

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use chrono::{DateTime, Utc};

/// A route that will go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Retiring {
    /// The method, in capitals.
    pub(crate) method: &'static str,
    /// The route's pattern.
    pub(crate) path: &'static str,
    /// Since when it should not be used any more, in unix seconds.
    pub(crate) since: i64,
    /// When it goes, in unix seconds: at least six months later.
    pub(crate) until: i64,
    /// The page that says what to use instead.
    pub(crate) more: &'static str,
}

/// Six months, in seconds.
#[cfg(test)]
const NOTICE: i64 = 184 * 86_400;

/// Every route that will go. None, so far.
pub(crate) const RETIRING: &[Retiring] = &[];

/// The announcement for this route, if it will go.
pub(crate) fn of(retiring: &'static [Retiring], method: &str, path: &str) -> Option<&'static Retiring> {
    retiring.iter().find(|route| route.method == method && route.path == path)
}

impl Retiring {
    /// `Deprecation` (RFC 9745), `Sunset` (RFC 8594) and a link to more words.
    pub(super) fn announce(&self, headers: &mut HeaderMap) {
        let sunset = DateTime::<Utc>::from_timestamp(self.until, 0).unwrap_or_default();
        let fields = [
            (HeaderName::from_static("deprecation"), format!("@{}", self.since)),
            (HeaderName::from_static("sunset"), sunset.format("%a, %d %b %Y %H:%M:%S GMT").to_string()),
            (header::LINK, format!("<{}>; rel=\"deprecation\"", self.more)),
        ];
        for (name, text) in fields {
            if let Ok(value) = HeaderValue::from_str(&text) {
                // A page's neighbours stay beside it.
                headers.append(name, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GONE_SOON: &[Retiring] = &[Retiring {
        method: "GET",
        path: "/v1/old",
        since: 1_795_219_200,
        until: 1_811_116_800,
        more: "/docs#old",
    }];

    #[test]
    fn a_route_that_will_go_says_since_when_until_when_and_where_to_read_more() {
        let mut headers = HeaderMap::new();
        let found = of(GONE_SOON, "GET", "/v1/old");
        found.iter().for_each(|route| route.announce(&mut headers));
        assert_eq!(headers["deprecation"], "@1795219200");
        assert_eq!(headers["sunset"], "Mon, 24 May 2027 00:00:00 GMT");
        assert_eq!(headers["link"], "</docs#old>; rel=\"deprecation\"");
        assert!(of(GONE_SOON, "POST", "/v1/old").is_none());
    }

    #[test]
    fn nothing_goes_without_six_months_of_notice() {
        for route in RETIRING.iter().chain(GONE_SOON) {
            assert!(route.until - route.since >= NOTICE, "{} {}", route.method, route.path);
        }
    }
}

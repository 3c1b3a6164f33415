//! `Accept-Encoding`: an answer can always be given as it is.
//!
//! The layer that compresses answers 406 when a client refuses whatever we have (RFC 9110, 12.5.3, which asks for no such
//! thing), and only after the deed: a client would read a failure, and do it once more.

use axum::{
    extract::Request,
    http::{Extensions, HeaderMap, StatusCode, Version, header::ACCEPT_ENCODING},
};

/// On an answer that is sent as it is, whatever its client takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AsItIs;

/// Takes a header away that refuses everything; without it nothing is compressed.
pub(super) async fn leave_a_choice(mut request: Request) -> Request {
    if refuses_everything(request.headers()) {
        request.headers_mut().remove(ACCEPT_ENCODING);
    }
    request
}

/// Whether the layer may compress an answer; bodies that are stored compressed are not compressed again for each client.
pub(super) fn may_compress(_: StatusCode, _: Version, _: &HeaderMap, marks: &Extensions) -> bool {
    marks.get::<AsItIs>().is_none()
}

/// Whether neither gzip nor an answer as it is would do.
fn refuses_everything(headers: &HeaderMap) -> bool {
    let wishes = Wishes::of(headers);
    !wishes.plain && !wishes.gzip
}

/// Whether the client takes gzip.
pub(crate) fn takes_gzip(headers: &HeaderMap) -> bool {
    Wishes::of(headers).gzip
}

/// Which encodings a client accepts, of those that we have. When that is unclear (an invalid weight, a coding named twice) a client gets the answer
/// as it is.
struct Wishes {
    plain: bool,
    gzip: bool,
}

impl Wishes {
    fn of(headers: &HeaderMap) -> Self {
        let sent = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
        let wishes: Vec<(&str, bool)> = sent.flat_map(|list| list.split(',')).map(wish).collect();
        let wanted = |names: &[&str]| {
            let named =
                |(name, _): &&(&str, bool)| names.iter().any(|known| name.eq_ignore_ascii_case(known));
            let named: Vec<bool> = wishes.iter().filter(named).map(|(_, wanted)| *wanted).collect();
            (!named.is_empty()).then(|| named.iter().all(|wanted| *wanted))
        };
        let others = wanted(&["*"]);
        Self {
            plain: wanted(&["identity"]).or(others).unwrap_or(true),
            gzip: wanted(&["gzip", "x-gzip"]).or(others).unwrap_or(false),
        }
    }
}

/// One coding, and whether it is wanted: its weight is missing, or above 0 and well formed.
fn wish(item: &str) -> (&str, bool) {
    let Some((coding, weight)) = item.split_once(';') else { return (item.trim(), true) };
    let weight = weight.trim();
    let number = weight.strip_prefix(['q', 'Q']).and_then(|weight| weight.strip_prefix('='));
    // At most three digits after the point.
    let number = number.filter(|number| number.len() <= 5).and_then(|number| number.parse::<f32>().ok());
    (coding.trim(), number.is_some_and(|number| number > 0.0 && number <= 1.0))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

    use super::*;

    fn refuses(sent: &'static str) -> bool {
        refuses_everything(&[(ACCEPT_ENCODING, sent.parse().unwrap())].into_iter().collect())
    }

    #[test]
    fn accept_encoding_that_refuses_everything_is_recognized() {
        let refusals = ["*;q=0", "identity;q=0", "identity; Q=0.000, br", "gzip;q=0, *;q=0", "br, *;q=0"];
        for sent in [&refusals[..], &["gzip;q=2, identity;q=0", "gzip, GZIP;q=0, identity;q=0"]].concat() {
            assert!(refuses(sent), "{sent}");
        }
        for sent in
            ["", "br", "gzip;q=0", "gzip, *;q=0", "identity;q=0, *", "*;q=0, identity;q=0.1", "x-gzip, *;q=0"]
        {
            assert!(!refuses(sent), "{sent}");
        }
    }
}

//! A JSON body, by FastAPI's rules.

use std::time::Duration;

use axum::{
    body::Bytes,
    extract::{FromRequest, Request},
    http::{
        HeaderMap, StatusCode,
        header::{CONTENT_LENGTH, CONTENT_TYPE},
    },
};
use serde_json::{Value, json};

use super::{
    Fields, Object, Problem, Report, Take,
    odd::Odd,
    python_json::{self, Unread},
};
use crate::{
    Error,
    door::{BODY_LIMIT, Door, Since},
};

/// A body as it came. It is only judged when a handler reads it, because who asks comes before what is asked
/// (DECISIONS §3, "order of checks").
pub(crate) struct Body {
    bytes: Result<Bytes, Error>,
    is_json: bool,
}

impl FromRequest<Door> for Body {
    type Rejection = Error;

    async fn from_request(request: Request, door: &Door) -> Result<Self, Error> {
        let is_json = claims_json(request.headers());
        Ok(Self { bytes: whole(request, door.settings.body_wait).await, is_json })
    }
}

/// The whole of a request's body, if it keeps to the limits: none of it is waited for when it says by itself that it is
/// too large, and the rest of it no longer than `wait`.
pub(crate) async fn whole(request: Request, wait: Duration) -> Result<Bytes, Error> {
    if declares_too_much(request.headers()) {
        return Err(Error::TooLarge);
    }
    let since = request.extensions().get::<Since>().cloned();
    let arriving = tokio::time::timeout(wait, Bytes::from_request(request, &()));
    let arrived = match since {
        Some(since) => since.arriving(arriving).await,
        None => arriving.await,
    };
    arrived.map_err(|_| Error::TooSlow)?.map_err(|rejection| match rejection.status() {
        StatusCode::PAYLOAD_TOO_LARGE => Error::TooLarge,
        _ => Error::UnreadableBody,
    })
}

/// Reads a body that must be an object.
pub(crate) fn object<T>(body: Body, read: impl Fn(&mut Fields<'_>) -> Option<T>) -> Result<T, Error> {
    match body.value()? {
        None => {
            let mut report = Report::of("body");
            let refused = report.refuse("missing", "Field required");
            report.finish(refused).map_err(Error::Invalid)
        }
        Some(sent) => fields_of(sent, read),
    }
}

/// Reads a body that may be absent (or null); absent is `None`.
pub(crate) fn optional_object<T>(
    body: Body,
    read: impl Fn(&mut Fields<'_>) -> Option<T>,
) -> Result<Option<T>, Error> {
    match body.value()? {
        None | Some((Value::Null, _)) => Ok(None),
        Some(sent) => fields_of(sent, read).map(Some),
    }
}

fn fields_of<T>(
    (value, odd): (Value, Option<Odd>),
    read: impl Fn(&mut Fields<'_>) -> Option<T>,
) -> Result<T, Error> {
    let mut report = Report::of_odd("body", odd);
    let taken = Object(read).take(&value, &mut report);
    report.finish(taken).map_err(Error::Invalid)
}

impl Body {
    /// The body as JSON, with what is odd in it; `None` when there is none.
    fn value(self) -> Result<Option<(Value, Option<Odd>)>, Error> {
        let bytes = self.bytes?;
        if bytes.is_empty() {
            return Ok(None);
        }
        if !self.is_json {
            // Not parsed, and therefore no object: FastAPI passes the bytes on as they are.
            return Ok(Some((Value::String(String::new()), None)));
        }
        parse(&bytes).map(Some)
    }
}

/// UTF-8, with or without a byte order mark. A NUL among the first four bytes is UTF-16 or UTF-32 (RFC 4627).
fn parse(bytes: &[u8]) -> Result<(Value, Option<Odd>), Error> {
    if bytes.iter().take(4).any(|byte| *byte == 0) {
        return Err(Error::UnreadableBody);
    }
    let text = std::str::from_utf8(bytes).map_err(|_| Error::UnreadableBody)?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if let Ok(value) = serde_json::from_str(text) {
        return Ok((value, None));
    }
    python_json::read(text).map_err(|unread| match unread {
        Unread::TooMuch => Error::UnreadableBody,
        Unread::Broken(fault) => Error::Invalid(vec![Problem {
            kind: "json_invalid",
            loc: vec!["body".into(), fault.at.into()],
            msg: "JSON decode error".to_owned(),
            ctx: Some(json!({ "error": fault.message })),
        }]),
    })
}

/// Whether the request says by itself that its body is too large: then none of it need be sent to find out.
fn declares_too_much(headers: &HeaderMap) -> bool {
    let declared = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    declared.is_some_and(|bytes| bytes > BODY_LIMIT as u64)
}

/// `application/json`, or any `application/*+json`.
fn claims_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    kind.strip_prefix("application/").is_some_and(|subtype| subtype == "json" || subtype.ends_with("+json"))
}

#[cfg(test)]
impl Body {
    /// A body of the given content type, for the reader's own tests.
    pub(crate) fn sent(bytes: &[u8], content_type: &str) -> Self {
        let mut headers = HeaderMap::new();
        if let Ok(value) = content_type.parse() {
            headers.insert(CONTENT_TYPE, value);
        }
        Self { bytes: Ok(Bytes::copy_from_slice(bytes)), is_json: claims_json(&headers) }
    }
}

//! A JSON body, by FastAPI's rules.

use std::time::Duration;

use axum::{
    body::{Body as Arriving, Bytes},
    extract::{FromRequest, Request},
    http::{
        HeaderMap,
        header::{CONTENT_LENGTH, CONTENT_TYPE},
        request::Parts,
    },
};
use futures::TryStreamExt;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{
    Fields, Object, Report, Take,
    python_json::{self, Unread, Unrepresentable},
};
use crate::{
    AppState, Code, Error, Problem,
    state::{Account, BODY_LIMIT, Refused, Reservation, Since},
};

/// A body as it came. It is validated only when a handler reads it, because authentication comes first
/// (DECISIONS §3, "order of checks").
pub(crate) struct Body {
    bytes: Result<Bytes, Error>,
    is_json: bool,
    account: Option<Account>,
}

/// A body that was read before the handler was asked; goes with the request.
#[derive(Clone, Debug)]
pub(crate) struct Arrived(pub(crate) Bytes);

impl FromRequest<AppState> for Body {
    type Rejection = Error;

    async fn from_request(request: Request, state: &AppState) -> Result<Self, Error> {
        let is_json = claims_json(request.headers());
        let account = request.extensions().get::<Account>().cloned();
        Ok(Self { bytes: whole(request, state).await, is_json, account })
    }
}

/// The whole of a request's body. Where it takes long to arrive, the request's key is looked up again, and a request whose key was
/// revoked meanwhile is refused.
pub(crate) async fn whole(request: Request, state: &AppState) -> Result<Bytes, Error> {
    let (parts, body) = request.into_parts();
    if let Some(Arrived(bytes)) = parts.extensions.get() {
        return Ok(bytes.clone());
    }
    let begun = Instant::now();
    let bytes = arriving(&parts, body, state.settings.body_wait).await?;
    if begun.elapsed() >= state.settings.key_believed {
        state.directory.require_live_key(&state.ledger, &parts.headers).await?;
    }
    Ok(bytes)
}

/// A body, if it keeps to the limits: none of it is waited for when it says by itself that it is too large, and the rest of it
/// no longer than `wait`.
pub(super) async fn arriving(parts: &Parts, body: Arriving, wait: Duration) -> Result<Bytes, Error> {
    let declared = declared_length(&parts.headers);
    if declared.is_some_and(|bytes| bytes > BODY_LIMIT) {
        return Err(Error::Refused(Code::TooLarge));
    }
    let account = parts.extensions.get::<Account>();
    let arriving = tokio::time::timeout(wait, collect(body, declared.unwrap_or(BODY_LIMIT), account));
    let arrived = match parts.extensions.get::<Since>() {
        Some(since) => since.arriving(arriving).await,
        None => arriving.await,
    };
    arrived.map_err(|_| Error::Refused(Code::TooSlow))?
}

/// Reads a body into memory that is reserved as the body arrives, and not by the length that its client announces.
async fn collect(body: Arriving, announced: usize, account: Option<&Account>) -> Result<Bytes, Error> {
    let mut arriving = body.into_data_stream();
    let mut bytes = Vec::new();
    while let Some(data) = arriving.try_next().await.map_err(|_| Error::Refused(Code::UnreadableBody))? {
        let length = bytes.len() + data.len();
        if length > BODY_LIMIT {
            return Err(Error::Refused(Code::TooLarge));
        }
        if length > bytes.capacity() {
            let capacity = length.next_power_of_two().min(announced).max(length);
            account.map_or(Ok(()), |account| account.hold_body(capacity)).map_err(too_large_or_busy)?;
            bytes.reserve_exact(capacity - bytes.len());
        }
        bytes.extend_from_slice(&data);
    }
    Ok(bytes.into())
}

fn too_large_or_busy(refused: Refused) -> Error {
    match refused {
        Refused::TooLarge => Error::Refused(Code::TooLarge),
        Refused::Busy => Error::Refused(Code::Overloaded),
    }
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
        None | Some(Parsed { value: Value::Null, .. }) => Ok(None),
        Some(sent) => fields_of(sent, read).map(Some),
    }
}

fn fields_of<T>(
    Parsed { value, unrepresentable, _held }: Parsed,
    read: impl Fn(&mut Fields<'_>) -> Option<T>,
) -> Result<T, Error> {
    let mut report = Report::of_unrepresentable("body", unrepresentable);
    let taken = Object(read).take(&value, &mut report);
    report.finish(taken).map_err(Error::Invalid)
}

/// JSON, with the parts of it that are unrepresentable.
struct Parsed {
    value: Value,
    unrepresentable: Option<Unrepresentable>,
    _held: Option<Reservation>,
}

impl Body {
    /// The body as JSON; `None` when it is empty.
    fn value(self) -> Result<Option<Parsed>, Error> {
        let bytes = self.bytes?;
        if bytes.is_empty() {
            return Ok(None);
        }
        if !self.is_json {
            // Not parsed, and therefore no object: FastAPI passes the bytes on as they are.
            return Ok(Some(Parsed {
                value: Value::String(String::new()),
                unrepresentable: None,
                _held: None,
            }));
        }
        parse(&bytes, self.account.as_ref()).map(Some)
    }
}

/// UTF-8, with or without a byte order mark. A NUL among the first four bytes is UTF-16 or UTF-32 (RFC 4627).
fn parse(bytes: &[u8], account: Option<&Account>) -> Result<Parsed, Error> {
    if bytes.iter().take(4).any(|byte| *byte == 0) {
        return Err(Error::Refused(Code::UnreadableBody));
    }
    let text = std::str::from_utf8(bytes).map_err(|_| Error::Refused(Code::UnreadableBody))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let size = size_to_parse(text.as_bytes(), account);
    let held = hold(account, size)?;
    if let Ok(value) = serde_json::from_str(text) {
        return Ok(Parsed { value, unrepresentable: None, _held: held });
    }
    // Python's reader has the characters beside the values.
    drop(held);
    let held = hold(account, size + text.len() * size_of::<char>())?;
    match python_json::read(text) {
        Ok((value, unrepresentable)) => Ok(Parsed { value, unrepresentable, _held: held }),
        Err(Unread::TooMuch) => Err(Error::Refused(Code::UnreadableBody)),
        Err(Unread::Broken(fault)) => Err(Error::Invalid(vec![Problem {
            kind: "json_invalid",
            loc: vec!["body".into(), fault.at.into()],
            msg: "JSON decode error".to_owned(),
            ctx: Some(json!({ "error": fault.message })),
        }])),
    }
}

/// Holds so many bytes of what the caller may hold; all that a request holds beside its body is held at once, so that it is refused
/// for good where it never fits.
pub(crate) fn hold(account: Option<&Account>, bytes: usize) -> Result<Option<Reservation>, Error> {
    account.map_or(Ok(None), |account| account.hold(bytes)).map_err(too_large_or_busy)
}

/// The memory that a JSON text takes while it is parsed; what is more than the caller may hold is not counted.
pub(crate) fn size_to_parse(json: &[u8], account: Option<&Account>) -> usize {
    let most = account.map_or(0, |account| account.most() / VALUE_SIZE);
    json.len() + values_in(json, most) * VALUE_SIZE
}

/// The bytes that a JSON text takes at most once it is parsed, besides the text itself.
pub fn parsed_size(json: &str) -> usize {
    values_in(json.as_bytes(), usize::MAX).saturating_mul(VALUE_SIZE)
}

/// The bytes that a value of a JSON text takes at most while it is parsed, besides its own text. Measured: 330, for objects of
/// one field in each other; a number in a list takes 214, the growing list's unused half included.
const VALUE_SIZE: usize = 352;

/// At most so many values are in a JSON text: each but the first follows a bracket or a comma that is in no string. More than
/// `most` are not counted.
fn values_in(json: &[u8], most: usize) -> usize {
    let (mut values, mut in_string, mut is_escaped) = (1, false, false);
    for byte in json {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_string => is_escaped = true,
            b'"' => in_string = !in_string,
            b'[' | b'{' | b',' if !in_string => {
                values += 1;
                if values > most {
                    return values;
                }
            }
            _ => {}
        }
    }
    values
}

/// The length that the request announces.
fn declared_length(headers: &HeaderMap) -> Option<usize> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
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
        Self { bytes: Ok(Bytes::copy_from_slice(bytes)), is_json: claims_json(&headers), account: None }
    }
}

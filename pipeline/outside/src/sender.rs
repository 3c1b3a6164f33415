//! Posts to URLs that users set, within limits that no receiver can stretch.

use std::error::Error;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use reqwest::{Body, Method, Request, Response, Url};
use upstream::{BoxError, is_timeout};

use crate::clients::{CannotSend, Clients};
use crate::guard::{Guard, Reach};
use crate::lookup::{Lookup, SystemLookup};
use crate::names::Names;
use crate::resolver::{NoPermittedAddress, reaching};
use crate::retry_after::retry_after;

/// Until the head of the answer is there.
const TOTAL_TIMEOUT: Duration = Duration::from_secs(15);
/// How long the rest of an answer is read once its status is there.
const BODY_TIMEOUT: Duration = Duration::from_secs(2);
/// How much of an answer is read.
const MAX_ANSWER_BYTES: usize = 64 * 1024;

/// What became of a call. Nothing that the receiver wrote is in it but numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The receiver answered. Redirects are not followed, so 3xx appear here.
    Status {
        /// The HTTP status.
        code: u16,
        /// How long it wants to be left alone, at most [`crate::MAX_RETRY_AFTER`].
        retry_after: Option<Duration>,
    },
    /// Nothing was sent, and no name was resolved: the guard refused the URL, or a header cannot be one.
    Refused,
    /// Nothing was sent: the guard refused every address of the name. For operators: users are to see no difference from
    /// [`Unreachable`](Self::Unreachable), or they could ask which inner names there are.
    RefusedAddress,
    /// The name was not resolved within 3 s, no connection stood within 3 s, or no answer came within 15 s.
    Timeout,
    /// No such name, no connection, no valid TLS, or no HTTP.
    Unreachable,
}

/// Calls other people's servers. Cheap to clone; keeps connections.
#[derive(Clone, Debug)]
pub struct Sender {
    guard: Guard,
    names: Names,
    clients: Clients,
}

impl Sender {
    /// A sender behind `guard`, with the system's resolver.
    pub fn new(guard: Guard) -> Result<Self, CannotSend> {
        Self::with_lookup(guard, Arc::new(SystemLookup))
    }

    /// The same with another resolver.
    pub fn with_lookup(guard: Guard, lookup: Arc<dyn Lookup>) -> Result<Self, CannotSend> {
        Ok(Self { names: Names::new(lookup), clients: Clients::new(&guard)?, guard })
    }

    /// Posts `body` once, never twice, for `user`, whose names share a bounded part of the look-ups. `now` is what a date in
    /// `Retry-After` is compared with.
    pub async fn post(
        &self,
        user: &str,
        url: &Url,
        headers: Vec<(String, String)>,
        body: impl Into<Body>,
        now: DateTime<Utc>,
    ) -> Answer {
        // Again, since an endpoint may be older than today's allowed ranges.
        let (Ok(()), Some(reach), Some(headers)) =
            (self.guard.check(url), Reach::of(url), header_map(headers))
        else {
            return Answer::Refused;
        };
        let found = match self.names.of(user, url).await {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::TimedOut => return Answer::Timeout,
            Err(_) => return Answer::Unreachable,
        };
        let mut request = Request::new(Method::POST, url.clone());
        *request.headers_mut() = headers;
        *request.body_mut() = Some(body.into());
        let call = reaching(found, self.clients.of(reach).send(request));
        match tokio::time::timeout(TOTAL_TIMEOUT, call).await {
            Ok(Ok(response)) => {
                let answer = status_of(&response, now);
                let _ = tokio::time::timeout(BODY_TIMEOUT, read_to_limit(response)).await;
                answer
            }
            Ok(Err(error)) => {
                self.names.doubt(url);
                failure_of(&error)
            }
            Err(_) => Answer::Timeout,
        }
    }
}

pub(crate) fn header_map(headers: Vec<(String, String)>) -> Option<HeaderMap> {
    let pairs = headers
        .into_iter()
        .map(|(name, value)| Some((HeaderName::try_from(name).ok()?, HeaderValue::try_from(value).ok()?)));
    pairs.collect()
}

fn status_of(response: &Response, now: DateTime<Utc>) -> Answer {
    let asked = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
    Answer::Status {
        code: response.status().as_u16(),
        retry_after: asked.and_then(|value| retry_after(value, now)),
    }
}

/// Reads a short answer to its end, so that its connection can be used again. What is longer, slow or
/// broken loses its connection instead: the status has already been heard, and it counts.
async fn read_to_limit(mut response: Response) {
    let mut read = 0;
    while let Ok(Some(chunk)) = response.chunk().await {
        read += chunk.len();
        if read > MAX_ANSWER_BYTES {
            return;
        }
    }
}

fn failure_of(error: &BoxError) -> Answer {
    if is_refused_address(error) {
        return Answer::RefusedAddress;
    }
    if is_timeout(&**error) { Answer::Timeout } else { Answer::Unreachable }
}

/// Whether the guard refused every address of the name.
pub(crate) fn is_refused_address(error: &BoxError) -> bool {
    let mut cause: Option<&(dyn Error + 'static)> = Some(&**error);
    while let Some(error) = cause {
        if error.is::<NoPermittedAddress>() {
            return true;
        }
        cause = error.source();
    }
    false
}

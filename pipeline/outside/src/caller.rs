//! Calls servers of apps and reads what they answer, within limits that no server can stretch. Unlike a [`crate::Sender`], which
//! throws answers away.

use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{ACCEPT_ENCODING, CONTENT_ENCODING, HeaderValue};
use reqwest::{Method, Response, Url};

use crate::clients::{CannotSend, Clients, Failure, request};
use crate::guard::Guard;
use crate::lookup::{Lookup, SystemLookup};

/// The longest header that is kept.
const MAX_HEADER: usize = 512;

/// One call.
#[derive(Clone, Debug)]
pub struct Call {
    /// How.
    pub method: Method,
    /// Where.
    pub url: Url,
    /// Headers besides `User-Agent` and `Accept-Encoding`.
    pub headers: Vec<(String, String)>,
    /// The body, if there is one.
    pub body: Option<Vec<u8>>,
    /// The whole call, the reading of the answer included.
    pub timeout: Duration,
    /// How long the answer may be.
    pub max_bytes: usize,
}

/// What came of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heard {
    /// The server answered, and this is all of it. Redirects are not followed, so 3xx appear here.
    Answer {
        /// The HTTP status.
        status: u16,
        /// The whole body.
        body: Vec<u8>,
    },
    /// The answer is longer than allowed.
    TooLong,
    /// The answer is compressed, which was not asked for, or broke off.
    Broken,
    /// No answer came, or it did not end in time.
    Failed(Failure),
}

/// Calls servers of apps. Cheap to clone; keeps connections.
#[derive(Clone, Debug)]
pub struct Caller {
    clients: Clients,
}

impl Caller {
    /// A caller behind `guard`, with the system's resolver.
    ///
    /// # Errors
    /// [`CannotSend`].
    pub fn new(guard: Guard) -> Result<Self, CannotSend> {
        Self::with_lookup(guard, Arc::new(SystemLookup))
    }

    /// The same with another resolver.
    ///
    /// # Errors
    /// [`CannotSend`].
    pub fn with_lookup(guard: Guard, lookup: Arc<dyn Lookup>) -> Result<Self, CannotSend> {
        Ok(Self { clients: Clients::new(guard, lookup)? })
    }

    /// Makes a call, which is processed once at most, for `user`, whose names share a bounded part of the look-ups.
    pub async fn call(&self, user: &str, call: Call) -> Heard {
        self.call_for(user, call, "").await.0
    }

    /// The same, and what the answer's header `kept` says, if it has it once, in visible characters, and not too long.
    pub async fn call_for(&self, user: &str, call: Call, kept: &str) -> (Heard, Option<String>) {
        let mut value = None;
        match tokio::time::timeout(call.timeout, self.call_in_time(user, call, kept, &mut value)).await {
            Ok(heard) => (heard, value),
            Err(_) => (Heard::Failed(Failure::Timeout), None),
        }
    }

    async fn call_in_time(&self, user: &str, call: Call, kept: &str, value: &mut Option<String>) -> Heard {
        let body = call.body.map(Into::into);
        let Some(mut request) = request(call.method, call.url, call.headers, body) else {
            return Heard::Failed(Failure::Refused);
        };
        request.headers_mut().insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        match self.clients.send(user, request, call.timeout).await {
            Ok(response) => {
                *value = header_of(&response, kept);
                read(response, call.max_bytes).await
            }
            Err(failure) => Heard::Failed(failure),
        }
    }
}

fn header_of(response: &Response, name: &str) -> Option<String> {
    let mut values = response.headers().get_all(name).iter();
    let (only, None) = (values.next()?, values.next()) else { return None };
    only.to_str().ok().filter(|text| (1..=MAX_HEADER).contains(&text.len())).map(str::to_owned)
}

/// Reads the body as it comes, and no byte more than allowed: what a server announces counts only where it is too much.
async fn read(mut response: Response, max_bytes: usize) -> Heard {
    let coding = response.headers().get(CONTENT_ENCODING);
    if coding.is_some_and(|coding| !coding.as_bytes().eq_ignore_ascii_case(b"identity")) {
        return Heard::Broken;
    }
    let max = u64::try_from(max_bytes).unwrap_or(u64::MAX);
    if response.content_length().is_some_and(|length| length > max) {
        return Heard::TooLong;
    }
    let mut body = Vec::new();
    loop {
        match response.chunk().await {
            Ok(Some(chunk)) if body.len() + chunk.len() > max_bytes => return Heard::TooLong,
            Ok(Some(chunk)) => body.extend_from_slice(&chunk),
            Ok(None) => return Heard::Answer { status: response.status().as_u16(), body },
            Err(_) => return Heard::Broken,
        }
    }
}

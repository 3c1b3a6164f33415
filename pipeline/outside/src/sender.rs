//! Posts to URLs that users set, within limits that no receiver can stretch.

use std::sync::Arc;
use std::time::Duration;

use reqwest::{Body, Method, Response, Url};
use upstream::asked_for;

use crate::clients::{CannotSend, Clients, Failure, request};
use crate::guard::Guard;
use crate::lookup::{Lookup, SystemLookup};

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
        /// How long it wants to be left alone.
        retry_after: Option<Duration>,
    },
    /// It did not, within 15 s.
    Failed(Failure),
}

/// Calls other people's servers. Cheap to clone; keeps connections.
#[derive(Clone, Debug)]
pub struct Sender {
    clients: Clients,
}

impl Sender {
    /// A sender behind `guard`, with the system's resolver.
    pub fn new(guard: Guard) -> Result<Self, CannotSend> {
        Self::with_lookup(guard, Arc::new(SystemLookup))
    }

    /// The same with another resolver.
    pub fn with_lookup(guard: Guard, lookup: Arc<dyn Lookup>) -> Result<Self, CannotSend> {
        Ok(Self { clients: Clients::new(guard, lookup)? })
    }

    /// Posts `body`, which is processed once at most, for `user`, whose names share a bounded part of the look-ups.
    pub async fn post(
        &self,
        user: &str,
        url: &Url,
        headers: Vec<(String, String)>,
        body: impl Into<Body>,
    ) -> Answer {
        let Some(request) = request(Method::POST, url.clone(), headers, Some(body.into())) else {
            return Answer::Failed(Failure::Refused);
        };
        match self.clients.send(user, request, TOTAL_TIMEOUT).await {
            Ok(response) => {
                let (code, retry_after) = (response.status().as_u16(), asked_for(response.headers()));
                let _ = tokio::time::timeout(BODY_TIMEOUT, read_to_limit(response)).await;
                Answer::Status { code, retry_after }
            }
            Err(failure) => Answer::Failed(failure),
        }
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

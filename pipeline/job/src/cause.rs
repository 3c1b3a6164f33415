//! What lies behind a failure or a release: closed values for operators. Never a word of what a provider wrote.

use std::fmt;

use crate::{FailureCode, named};

named! {
    /// What a model server's answer, or its silence, was.
    ErrorClass {
        /// 401: the key is not accepted.
        KeyRejected = "key_rejected",
        /// 403: the key may not do this.
        Forbidden = "forbidden",
        /// 404: there is no such model, or no such path.
        ModelNotFound = "model_not_found",
        /// 400, 422 and other answers of 4xx: the request was not taken.
        BadRequest = "bad_request",
        /// The request was longer than the model takes.
        TooLong = "too_long",
        /// The content filter, or the model itself, refused to answer.
        ContentFilter = "content_filter",
        /// No credit or quota is left.
        QuotaExhausted = "quota_exhausted",
        /// 429: too many requests.
        RateLimited = "rate_limited",
        /// 5xx, 409: the server failed.
        ServerError = "server_error",
        /// It did not answer in time.
        Timeout = "timeout",
        /// It could not be connected to, or the connection broke.
        Unreachable = "unreachable",
        /// Its certificate is not accepted, or it speaks no TLS.
        Certificate = "certificate",
        /// The answer ended before it was whole.
        Cut = "cut",
        /// The answer did not have the agreed form.
        Malformed = "malformed",
    }
}

/// What lies behind a failure or a release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// The failure, also where it cost no attempt.
    pub code: FailureCode,
    /// The stage that failed.
    pub stage: Option<String>,
    /// What the model server's answer was.
    pub class: Option<ErrorClass>,
    /// The status of that answer.
    pub http_status: Option<u16>,
    /// The model server's circuit is open: it is not asked for a while, and no attempt is spent.
    pub circuit_open: bool,
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.code)?;
        if let Some(stage) = &self.stage {
            write!(f, " in stage {stage}")?;
        }
        match (self.class, self.http_status) {
            (Some(class), Some(status)) => write!(f, ": HTTP {status}, {class}")?,
            (Some(class), None) => write!(f, ": {class}")?,
            (None, Some(status)) => write!(f, ": HTTP {status}")?,
            (None, None) => {}
        }
        if self.circuit_open {
            f.write_str("; the model server's circuit is open, and no attempt is spent")?;
        }
        Ok(())
    }
}

//! What an exchange with an engine's server came to that gave no words.

use std::time::Duration;

use crate::Reason;

/// Why an exchange gave no words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) reason: Reason,
    /// How long the server asked to be left alone.
    pub(crate) retry_after: Option<Duration>,
    /// Whether the same request may be answered a moment later.
    pub(crate) passing: bool,
    pub(crate) http_status: Option<u16>,
    /// The server is there and fails on this utterance, perhaps on no other.
    pub(crate) stumbled: bool,
}

impl Fault {
    /// The session may still ask again by itself: its audio goes on meanwhile.
    pub(crate) fn lasting(reason: Reason) -> Self {
        Self { reason, retry_after: None, passing: false, http_status: None, stumbled: false }
    }

    pub(crate) fn passing(reason: Reason) -> Self {
        Self { passing: true, ..Self::lasting(reason) }
    }

    pub(crate) fn malformed() -> Self {
        Self { stumbled: true, ..Self::passing(Reason::Malformed) }
    }
}

impl upstream::Fault for Fault {
    fn silent() -> Self {
        Self::lasting(Reason::Timeout)
    }

    fn outcome(&self) -> &'static str {
        self.reason.as_str()
    }

    fn is_unavailability(&self) -> bool {
        matches!(self.reason, Reason::Unavailable | Reason::Timeout)
    }

    fn is_passing(&self) -> bool {
        self.passing
    }

    fn retry_after(&self) -> Option<Duration> {
        self.retry_after
    }
}

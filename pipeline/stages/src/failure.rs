//! Why an engine gave no answer, and what that is to cost the job.

use std::time::Duration;

use job::{ErrorClass, FailureCode};

/// The longest wait that a model server can ask of a job: one that names next year is not believed.
pub const MAX_RETRY_AFTER: Duration = Duration::from_secs(60 * 60);

/// An engine did not answer. Holds no word of what a provider wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Why.
    pub code: FailureCode,
    /// How long the server asked to be left alone, at most [`MAX_RETRY_AFTER`].
    pub retry_after: Option<Duration>,
    /// The circuit of the server is open: the job is given back with a delay and no attempt is spent
    /// (DECISIONS §4, "back-off").
    pub circuit_open: bool,
    /// What the server's answer was.
    pub class: Option<ErrorClass>,
    /// The status of that answer.
    pub http_status: Option<u16>,
}

impl Failure {
    /// A failure that the server put a time to, or did not.
    pub fn after(code: FailureCode, retry_after: Option<Duration>) -> Self {
        let retry_after = retry_after.map(|asked| asked.min(MAX_RETRY_AFTER));
        Self { code, retry_after, circuit_open: false, class: None, http_status: None }
    }

    /// A failure for as long as a circuit is open, which is for `wait`.
    pub fn while_open(code: FailureCode, wait: Duration) -> Self {
        Self { circuit_open: true, ..Self::after(code, Some(wait)) }
    }

    /// A failure with what the server's answer was.
    pub fn of_class(code: FailureCode, class: ErrorClass) -> Self {
        Self { class: Some(class), ..code.into() }
    }
}

impl From<FailureCode> for Failure {
    fn from(code: FailureCode) -> Self {
        Self::after(code, None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_after_is_capped_at_an_hour() {
        let year = Duration::from_secs(365 * 86_400);
        let failure = Failure::after(FailureCode::ModelRateLimited, Some(year));
        assert_eq!(failure.retry_after, Some(MAX_RETRY_AFTER));
        assert!(!failure.circuit_open);
        let open = Failure::while_open(FailureCode::ModelUnavailable, year);
        assert_eq!((open.retry_after, open.circuit_open), (Some(MAX_RETRY_AFTER), true));
    }
}

//! Why an engine gave no answer, and what that is to cost the job.

use std::time::Duration;

use job::FailureCode;

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
}

impl Failure {
    /// A failure that the server put a time to, or did not.
    pub fn after(code: FailureCode, retry_after: Option<Duration>) -> Self {
        Self { code, retry_after: retry_after.map(|asked| asked.min(MAX_RETRY_AFTER)), circuit_open: false }
    }

    /// A failure for as long as a circuit is open, which is for `wait`.
    pub fn while_open(code: FailureCode, wait: Duration) -> Self {
        Self { circuit_open: true, ..Self::after(code, Some(wait)) }
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
    fn no_server_can_ask_for_more_than_an_hour() {
        let year = Duration::from_secs(365 * 86_400);
        let failure = Failure::after(FailureCode::ModelRateLimited, Some(year));
        assert_eq!(failure.retry_after, Some(MAX_RETRY_AFTER));
        assert!(!failure.circuit_open);
        let open = Failure::while_open(FailureCode::ModelUnavailable, year);
        assert_eq!((open.retry_after, open.circuit_open), (Some(MAX_RETRY_AFTER), true));
    }
}

//! Why a run failed: a closed list (DECISIONS §4). A code is the column, the metric label, the poll
//! field and a page in `docs/failures/`; a provider's own text never gets this far.

use crate::named;

named! {
    /// A failure code.
    FailureCode {
        /// A model did not answer in time.
        ModelTimeout = "model_timeout",
        /// A model could not be reached, or answered with a server error.
        ModelUnavailable = "model_unavailable",
        /// A model asked us to slow down.
        ModelRateLimited = "model_rate_limited",
        /// A model refused the request (credentials, quota, content).
        ModelRejected = "model_rejected",
        /// A model's answer did not have the agreed shape.
        ModelMalformed = "model_malformed",
        /// The run took longer than the run limit.
        RunTimeout = "run_timeout",
        /// A stage used more processor time than its input allows for.
        StageTimeout = "stage_timeout",
        /// The database did not answer.
        DatabaseUnavailable = "database_unavailable",
        /// A defect of ours; the log has the reason.
        Internal = "internal",
        /// The conversation is gone.
        ConversationMissing = "conversation_missing",
        /// The conversation has no words.
        NoContent = "no_content",
        /// The job itself makes no sense.
        InvalidJob = "invalid_job",
        /// Five leases expired: the run kills its worker.
        PoisonCrash = "poison_crash",
        /// No request brought keys for 14 days.
        ByokSessionAbandoned = "byok_session_abandoned",
        /// The provider refused the user's key.
        ByokKeyRejected = "byok_key_rejected",
        /// An operator cancelled the job.
        CancelledByOperator = "cancelled_by_operator",
        /// A summarization app failed; never fails a job.
        AppFailed = "app_failed",
    }
}

impl FailureCode {
    /// Whether another attempt may help (DECISIONS §4, "Failure codes").
    pub const fn is_retryable(self) -> bool {
        matches!(
            self,
            Self::ModelTimeout
                | Self::ModelUnavailable
                | Self::ModelRateLimited
                | Self::ModelRejected
                | Self::ModelMalformed
                | Self::RunTimeout
                | Self::StageTimeout
                | Self::DatabaseUnavailable
                | Self::Internal
        )
    }
}

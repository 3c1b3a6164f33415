//! The poll of a finalization.

use job::{Cause, ErrorClass as Class, FailureCode, Outcome};
use ledger::Poll;

use super::{
    Time,
    words::{ErrorClass, JobOutcome, JobProgress, JobStatus},
};

shape! {
    /// The job that finalizes the newest revision of a conversation. It holds no word of what was said.
    // DECISIONS §4, "poll".
    pub poll(poll: &Poll) -> FinalizationJob {
        /// The same for the same user, conversation and revision.
        job_id: String = poll.stored.job.id.as_str().to_owned(), "fj_5a1c09e27d3f8b6a4c21e0f9b8d7c6a5e4f3d2c1b0";
        /// The status.
        #[schemars(with = "JobStatus")]
        status: &'static str = poll.stored.job.state.status(), "leased";
        /// Whether it is finished: completed or dead_letter.
        terminal: bool = poll.stored.job.state.is_terminal(), false;
        /// Whether another run will follow: `queued`.
        retryable: bool = poll.stored.job.state.ready_at().is_some(), false;
        /// Runs begun and not released.
        attempt_count: u32 = poll.stored.job.runs, 1;
        /// Runs that failed or crashed so far.
        task_retry_count: u32 = poll.stored.job.retries(), 0;
        /// The number of its dispatch.
        #[schemars(range(min = 1))]
        dispatch_generation: i64 = poll.stored.job.generation.0, 1;
        /// Why it last failed; a page on each code is in the service's documents.
        failure_code: Option<&'static str> = poll.stored.job.failure_code().map(FailureCode::as_str), null;
        /// How a completed job ended.
        #[schemars(with = "Option<JobOutcome>")]
        outcome: Option<&'static str> = poll.stored.job.state.outcome().map(Outcome::as_str), null;
        /// When it was admitted.
        created_at: Time = poll.stored.created_at.into(), "2026-11-21T09:00:00Z";
        /// When it last changed.
        updated_at: Time = poll.stored.updated_at.into(), "2026-11-21T09:00:00.120301Z";
        /// The status in short.
        #[schemars(with = "JobProgress")]
        progress: &'static str = progress(poll), "running";
        /// Whether a finalize would do something: the conversation failed and is admitted once more, or its job is `blocked_byok` and
        /// the user's own key, sent with the finalize, resumes it.
        can_finalize_again: bool = poll.can_finalize_again, false;
        /// The cause of the last failure, or of the last release without a failure.
        cause: Option<FailureCause> = poll.cause.as_ref().map(cause), null;
    }
}

shape! {
    /// The cause of the last failure, or of the last release without a failure: closed values, never a provider's words.
    pub cause(cause: &Cause) -> FailureCause {
        /// The failure code.
        failure_code: &'static str = cause.code.as_str();
        /// The stage that failed.
        stage: Option<String> = cause.stage.clone();
        /// The answer of the model server, or its silence.
        #[schemars(with = "Option<ErrorClass>")]
        error_class: Option<&'static str> = cause.class.map(Class::as_str);
        /// The status of that answer.
        http_status: Option<u16> = cause.http_status;
        /// Whether the model server is not asked for a while: no attempt is spent.
        circuit_open: bool = cause.circuit_open;
    }
}

/// The status in four words that need no explanation.
fn progress(poll: &Poll) -> &'static str {
    match poll.stored.job.state.status() {
        "leased" => "running",
        "completed" => "done",
        "dead_letter" => "failed",
        _ => "waiting",
    }
}

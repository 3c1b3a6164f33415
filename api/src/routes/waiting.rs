//! Waiting for the end of a job that was admitted a moment ago.

use std::pin::pin;

use futures::poll;
use ledger::{Ledger, Poll};
use records::{ConversationId, UserId};
use tokio::time::{Duration, Instant, sleep};

/// How often the job's row is read: a worker of this process wakes us, one of another cannot.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// A read that has begun is waited for at least this long: giving it up makes every session suspect.
const ONE_LOOK: Duration = Duration::from_secs(1);

/// Waits until the newest job of `conversation` is at rest or will not be soon, at most `longest`. No connection
/// is held meanwhile. A database that does not answer is asked again: the intent is committed, and only the
/// waiting is at stake.
pub(super) async fn for_the_end(
    ledger: &Ledger,
    user: &UserId,
    conversation: &ConversationId,
    longest: Duration,
) {
    let until = Instant::now() + longest;
    loop {
        // Listening begins before the row is read, or an end between the two would go unheard.
        let mut settled = pin!(ledger.db().waker().some_job_settled());
        let heard = poll!(settled.as_mut()).is_ready();
        let left = until.saturating_duration_since(Instant::now()).max(ONE_LOOK);
        match ledger.db().within(left, ledger.poll(user, conversation)).await {
            Ok(found) if found.as_ref().is_none_or(is_decided) => return,
            _ if Instant::now() >= until => return,
            _ if heard => {}
            _ => {
                tokio::select! {
                    () = settled => {}
                    () = sleep(LOOK_EVERY.min(until.saturating_duration_since(Instant::now()))) => {}
                }
            }
        }
    }
}

/// Whether an answer can be given: terminal, parked, deferred, or with a first attempt behind it (DECISIONS §3,
/// "create answer").
fn is_decided(job: &Poll) -> bool {
    job.terminal || job.status == "blocked_byok" || job.backing_off || job.task_retry_count > 0
}

#[cfg(test)]
mod tests {
    use job::{Generation, JobId, Timestamp};

    use super::*;

    #[test]
    fn create_waits_only_for_running_or_soon_due_jobs() {
        let now = Timestamp::UNIX_EPOCH;
        let queued = Poll {
            job_id: JobId::from_text("j"),
            status: "queued",
            terminal: false,
            retryable: true,
            attempt_count: 0,
            task_retry_count: 0,
            dispatch_generation: Generation(1),
            failure_code: None,
            outcome: None,
            created_at: now,
            updated_at: now,
            version: 1,
            backing_off: false,
            cause: None,
            can_finalize_again: false,
        };
        let leased = Poll { status: "leased", retryable: false, attempt_count: 1, ..queued.clone() };
        for (job, decided) in [
            (queued.clone(), false),
            (leased.clone(), false),
            (Poll { status: "completed", terminal: true, retryable: false, ..queued.clone() }, true),
            (Poll { status: "blocked_byok", retryable: false, ..queued.clone() }, true),
            (Poll { backing_off: true, ..queued.clone() }, true),
            (Poll { task_retry_count: 1, ..queued }, true),
            (Poll { task_retry_count: 1, ..leased }, true),
        ] {
            assert_eq!(is_decided(&job), decided, "{job:?}");
        }
    }
}

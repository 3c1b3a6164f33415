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
fn is_decided(poll: &Poll) -> bool {
    let job = &poll.stored.job;
    job.state.is_terminal() || poll.waits_longer() || job.retries() > 0
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use job::{Admission, Epoch, Job, JobId, Lease, Origin, Outcome, State, Timestamp, WorkerId};
    use ledger::StoredJob;

    use super::*;

    #[test]
    fn create_waits_only_for_running_or_soon_due_jobs() {
        let now = Timestamp::UNIX_EPOCH;
        let id = JobId::from_text("j");
        let admission = Admission { id, origin: Origin::Create, force_process: false, requires_keys: false };
        let admitted = StoredJob {
            user_id: UserId::new("u"),
            conversation_id: ConversationId::new("c"),
            revision: 1,
            version: 1,
            created_at: now,
            updated_at: now,
            job: Job::admit(admission, now).job,
            trace: None,
            event: None,
        };
        let queued = State::Queued { ready_at: now };
        let leased = State::Leased(Lease {
            epoch: Epoch(1),
            worker: WorkerId("w".to_owned()),
            ready_at: now,
            claimed_at: now,
            expires_at: now,
        });
        for (state, attempts, decided) in [
            (queued.clone(), 0, false),
            (leased.clone(), 0, false),
            (State::Completed { outcome: Outcome::Kept }, 0, true),
            (State::BlockedByok, 0, true),
            (State::Queued { ready_at: now + TimeDelta::seconds(1) }, 0, true),
            (queued, 1, true),
            (leased, 1, true),
        ] {
            let job = Job { state, attempts, ..admitted.job.clone() };
            let stored = StoredJob { job, ..admitted.clone() };
            let poll = Poll { stored, cause: None, can_finalize_again: false };
            assert_eq!(is_decided(&poll), decided, "{poll:?}");
        }
    }
}

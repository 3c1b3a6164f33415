//! The one function that says what happens next.

use crate::{Command, Job, Policy, Refusal, Step, Timestamp, claim, operator, repair, run, user};

/// Decides `command` on `job` at `now`: total, pure, and the only place where a job's next state is made.
///
/// # Errors
/// The refusals of DESIGN §3, in the order of its table; the job is then unchanged.
pub fn decide(job: &Job, command: Command, now: Timestamp, policy: &Policy) -> Result<Step, Refusal> {
    match command {
        Command::Claim { generation, worker, keys } => {
            claim::claim(job, generation, worker, keys, now, policy)
        }
        Command::Renew { epoch } => run::renew(job, epoch, now, policy),
        Command::ProveAlive { epoch } => run::prove_alive(job, epoch, policy),
        Command::Release { epoch, delay } => run::release(job, epoch, delay, now, policy),
        Command::Complete { epoch, outcome } => run::complete(job, epoch, outcome),
        Command::Fail { epoch, code, retry_after, jitter_permille } => {
            run::fail(job, epoch, code, retry_after, jitter_permille, now, policy)
        }
        Command::Park { epoch } => run::park(job, epoch, now),
        Command::RequireKeys => user::require_keys(job, now),
        Command::Reconcile { task_waiting } => repair::reconcile(job, task_waiting, now, policy),
        Command::Replay { superseded, conversation_gone, requires_keys } => {
            operator::replay(job, superseded, conversation_gone, requires_keys, now)
        }
        Command::Discard | Command::Supersede => operator::settle(job, now),
        Command::RunNow => operator::run_now(job, now),
        Command::Cancel => operator::cancel(job, now),
        Command::Withdraw => user::withdraw(job, now),
    }
}

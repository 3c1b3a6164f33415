//! The one function that says what happens next.

use crate::{Command, Job, Policy, Refusal, Step, Timestamp};

/// What a job's next state follows from, besides the command. Each command has a method, in the file of those who send it.
pub(crate) struct Decision<'a> {
    pub(crate) job: &'a Job,
    pub(crate) now: Timestamp,
    pub(crate) policy: &'a Policy,
}

/// Decides `command` on `job` at `now`: total, pure, and the only place where a job's next state is made.
///
/// # Errors
/// The refusals of DESIGN §3, in the order of its table; the job is then unchanged.
pub fn decide(job: &Job, command: Command, now: Timestamp, policy: &Policy) -> Result<Step, Refusal> {
    let decision = Decision { job, now, policy };
    match command {
        Command::Claim { generation, worker, keys } => decision.claim(generation, worker, keys),
        Command::Renew { epoch } => decision.renew(epoch),
        Command::ProveAlive { epoch } => decision.prove_alive(epoch),
        Command::Release { epoch, delay } => decision.release(epoch, delay),
        Command::Complete { epoch, outcome } => decision.complete(epoch, outcome),
        Command::Fail { epoch, code, retry_after, jitter_permille } => {
            decision.fail(epoch, code, retry_after, jitter_permille)
        }
        Command::Park { epoch } => decision.park(epoch),
        Command::RequireKeys => decision.require_keys(),
        Command::Reconcile { task_waiting } => decision.reconcile(task_waiting),
        Command::Replay { superseded, conversation_gone, requires_keys } => {
            decision.replay(superseded, conversation_gone, requires_keys)
        }
        Command::Discard | Command::Supersede => decision.settle(),
        Command::RunNow => decision.run_now(),
        Command::Cancel => decision.cancel(),
        Command::Withdraw => decision.withdraw(),
    }
}

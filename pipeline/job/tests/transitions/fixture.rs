//! Jobs in each state, built by the machine itself, and a clock in seconds.

use chrono::{DateTime, Duration};
use job::{
    Admission, Command, Effect, Epoch, FailureCode, Generation, Job, JobId, Origin, Outcome, Policy, Refusal,
    State, Step, Timestamp, WorkerId, decide,
};

pub(crate) fn at(seconds: i64) -> Timestamp {
    DateTime::from_timestamp(1_700_000_000 + seconds, 0).unwrap()
}

pub(crate) fn policy() -> Policy {
    Policy::default()
}

pub(crate) fn admission(requires_keys: bool) -> Admission {
    Admission {
        id: JobId::derive("user", "conversation", 1),
        origin: Origin::Create,
        force_process: true,
        requires_keys,
    }
}

/// Admitted at 0.
pub(crate) fn queued() -> Job {
    Job::admit(admission(false), at(0)).job
}

/// Admitted at 0, without keys.
pub(crate) fn parked() -> Job {
    Job::admit(admission(true), at(0)).job
}

/// Claimed at 10 by "one": epoch 1, expires at 40.
pub(crate) fn leased() -> Job {
    granted(&queued(), claim(1, false), 10).job
}

/// A job that requires keys, claimed with keys at 10.
pub(crate) fn keyed() -> Job {
    granted(&parked(), claim(1, true), 10).job
}

/// Completed at 20.
pub(crate) fn completed() -> Job {
    granted(&leased(), complete(1), 20).job
}

/// Dead at 20, of a fatal code.
pub(crate) fn dead() -> Job {
    granted(&leased(), fail(1, FailureCode::InvalidJob), 20).job
}

/// One of each state.
pub(crate) fn one_of_each() -> [Job; 5] {
    [queued(), leased(), parked(), completed(), dead()]
}

pub(crate) fn granted(job: &Job, command: Command, seconds: i64) -> Step {
    decide(job, command, at(seconds), &policy()).expect("granted")
}

pub(crate) fn refused(job: &Job, command: Command, seconds: i64) -> Refusal {
    decide(job, command, at(seconds), &policy()).expect_err("refused")
}

pub(crate) fn claim(generation: i64, keys: bool) -> Command {
    Command::Claim { generation: Generation(generation), worker: WorkerId("one".into()), keys }
}

pub(crate) fn renew(epoch: i64) -> Command {
    Command::Renew { epoch: Epoch(epoch) }
}

pub(crate) fn prove_alive(epoch: i64) -> Command {
    Command::ProveAlive { epoch: Epoch(epoch) }
}

pub(crate) fn release(epoch: i64, delay: i64) -> Command {
    Command::Release { epoch: Epoch(epoch), delay: Duration::seconds(delay) }
}

pub(crate) fn complete(epoch: i64) -> Command {
    Command::Complete { epoch: Epoch(epoch), outcome: Outcome::Kept }
}

pub(crate) fn fail(epoch: i64, code: FailureCode) -> Command {
    Command::Fail { epoch: Epoch(epoch), code, retry_after: None, jitter_permille: 0 }
}

pub(crate) fn park(epoch: i64) -> Command {
    Command::Park { epoch: Epoch(epoch) }
}

pub(crate) fn reconcile(task_waiting: bool) -> Command {
    Command::Reconcile { task_waiting }
}

pub(crate) fn replay() -> Command {
    Command::Replay { superseded: false, conversation_gone: false, requires_keys: false }
}

pub(crate) fn ready_at(job: &Job) -> Timestamp {
    match &job.state {
        State::Queued { ready_at } => *ready_at,
        other => panic!("not queued but {}", other.status()),
    }
}

pub(crate) fn lease(job: &Job) -> &job::Lease {
    match &job.state {
        State::Leased(lease) => lease,
        other => panic!("not leased but {}", other.status()),
    }
}

/// What every edge into `DeadLetter` must tell.
pub(crate) fn dead_letter_effects(code: FailureCode) -> Vec<Effect> {
    vec![Effect::FailConversation { code }, Effect::CountDeadLetter]
}

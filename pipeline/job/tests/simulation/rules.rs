//! What must hold at every store, judged by the simulation's own books and not by the machine's word.

use chrono::Duration;
use job::{Command, Effect, FailureCode, Job, Policy, Refusal, State, decide};

use crate::books::Books;
use crate::sim::{Actor, Row, Want, Write};
use crate::store::enqueues;

/// Judges one write against the row that it replaces.
pub(crate) fn check(row: &Row, write: &Write, policy: &Policy) -> Result<(), String> {
    let (old, new) = (&row.job, &write.step.job);
    numbers(old, new)?;
    fence(row, write)?;
    keys(&row.books, write)?;
    counters(&row.books, new, policy)?;
    edge(old, write, policy)?;
    tasks(old, write)?;
    dead_letters(old, write)?;
    due(new, &row.books, policy)?;
    owner(new, policy)
}

fn must(holds: bool, rule: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(format!("broken: {rule}")) }
}

/// What never goes back, and what never moves.
pub(crate) fn numbers(old: &Job, new: &Job) -> Result<(), String> {
    must(new.epoch >= old.epoch && new.epoch.0 <= old.epoch.0 + 1, "epochs rise one at a time")?;
    must(new.generation >= old.generation, "generations never go back")?;
    must(
        !matches!(old.state, State::Completed { .. }) || new.state == old.state,
        "a completed job never moves",
    )?;
    must(
        new.id == old.id && new.origin == old.origin && new.force_process == old.force_process,
        "a job stays itself",
    )
}

/// Only the newest claim writes; a lease that has not run out is never taken.
fn fence(row: &Row, write: &Write) -> Result<(), String> {
    match (write.actor, write.want) {
        (Actor::Run { .. }, Want::Prove) => {
            let crashes = row.job.crashes.saturating_sub(1);
            let proven = Job { crashes, crashed_epoch: None, ..row.job.clone() };
            must(write.step.job == proven, "a proof takes a crash back, and does nothing else")?;
        }
        (Actor::Run { run, .. }, _) => must(run.claim == row.books.claim, "no superseded run writes")?,
        _ => {}
    }
    if let (State::Leased(lease), Want::Claim | Want::Reconcile) = (&row.job.state, write.want) {
        must(write.decided >= lease.expires_at, "no lease is taken over before it expires")?;
    }
    if write.want == Want::Claim {
        must(write.generation == row.job.generation, "a claim names the present dispatch")?;
    }
    let fresh = write.step.job.epoch > row.job.epoch;
    must(fresh == (write.want == Want::Claim && leased(&write.step.job)), "a claim has an epoch of its own")?;
    must(row.books.completions <= 1, "a revision is completed once")
}

fn keys(books: &Books, write: &Write) -> Result<(), String> {
    let new = &write.step.job;
    if let (Actor::Taker { keys, .. }, true) = (write.actor, leased(new)) {
        must(keys || !books.requires_keys, "no keyless lease of a job that requires keys")?;
    }
    must(
        new.requires_keys == books.requires_keys,
        "required keys stay required, and nothing else requires them",
    )?;
    must(
        !(new.requires_keys && matches!(new.state, State::Queued { .. })),
        "a job that requires keys never queues",
    )?;
    if matches!(new.state, State::BlockedByok) {
        must(new.first_blocked_at == books.parked_at, "parking again does not restart the clock")?;
    }
    Ok(())
}

fn counters(books: &Books, new: &Job, policy: &Policy) -> Result<(), String> {
    must(new.attempts == books.attempts, "attempts are the failures that were recorded")?;
    must(new.crashes == books.crashes, "crashes are the leases that ran out and were not proven late")?;
    must(new.crashed_epoch == books.crashed, "the crash that can be taken back is the one counted last")?;
    must(new.runs == books.runs, "runs are the claims that were not released")?;
    let spent = new.attempts >= policy.max_attempts || new.crashes >= policy.max_crashes;
    must(new.state.is_terminal() || !spent, "limits hold")
}

/// What each verb does with the job's times.
fn edge(old: &Job, write: &Write, policy: &Policy) -> Result<(), String> {
    let new = &write.step.job;
    match (write.want, &old.state, &new.state) {
        (Want::Claim, State::Queued { ready_at }, State::Leased(lease)) => {
            must(write.decided >= *ready_at, "no claim before ready_at")?;
            must(lease.ready_at == *ready_at, "a lease remembers its place")?;
            must(lease.expires_at == write.decided + policy.lease, "a lease lasts as long as agreed")
        }
        (Want::Claim, State::Leased(before), State::Leased(after)) => {
            must(after.ready_at == before.ready_at, "a take-over remembers the place")
        }
        (Want::Renew, State::Leased(before), State::Leased(after)) => {
            must(write.decided < before.claimed_at + policy.run_limit, "no renewal beyond the run limit")?;
            let until = before.expires_at.max(write.decided + policy.lease);
            must(after.expires_at == until, "a renewal moves the expiry, never back")?;
            must(
                after.claimed_at == before.claimed_at && after.ready_at == before.ready_at,
                "and nothing else",
            )
        }
        (Want::Fail(code), _, State::Queued { ready_at }) => {
            must(code != FailureCode::NoContent, "a fatal failure is not tried again")?;
            let waits = [30, 120, 480, 1_800];
            let wait = waits[(new.attempts as usize - 1).min(3)];
            must(*ready_at == write.decided + Duration::seconds(wait), "the back-off grows as agreed")
        }
        (Want::Fail(code), _, state) => {
            let fatal = code == FailureCode::NoContent || new.attempts >= policy.max_attempts;
            let parked = matches!(state, State::BlockedByok);
            must(fatal || parked, "only a fatal failure or the last one gives up")
        }
        (Want::Release { delay }, _, State::Queued { ready_at }) => must(
            *ready_at == write.decided + Duration::milliseconds(delay),
            "a release is ready when it says",
        ),
        (Want::Reconcile, State::Leased(lease), State::Queued { ready_at }) => {
            must(*ready_at == lease.ready_at, "a crashed job keeps its place")?;
            must(new.generation == old.generation.next(), "a repair is a dispatch of its own")
        }
        (Want::Reconcile, State::Queued { ready_at: before }, State::Queued { ready_at: after }) => {
            must(before == after, "a repaired job keeps its place")
        }
        (Want::Complete, _, state) => {
            must(matches!(state, State::Completed { .. }), "a completion completes")
        }
        _ => Ok(()),
    }
}

/// A job is enqueued exactly when it comes into its queue.
fn tasks(old: &Job, write: &Write) -> Result<(), String> {
    let queued = matches!(write.step.job.state, State::Queued { .. });
    let enqueued = write.step.job.dispatch.0 - old.dispatch.0;
    must(enqueued == i64::from(enqueues(&write.step)), "every dispatch has a number of its own")?;
    let waits = matches!(write.want, Want::Reconcile | Want::Prove) && !enqueues(&write.step);
    must(enqueues(&write.step) == queued || (queued && waits), "a queued job has been enqueued")
}

/// When a job must be checked, from the simulation's own numbers.
pub(crate) fn due(job: &Job, books: &Books, policy: &Policy) -> Result<(), String> {
    let expected = match &job.state {
        State::Leased(lease) => Some(lease.expires_at),
        State::Queued { ready_at } => Some(job.next_check_at.unwrap_or(*ready_at + policy.staleness)),
        State::BlockedByok => books.parked_at.map(|since| since + policy.byok_deadline),
        State::Completed { .. } | State::DeadLetter { .. } => None,
    };
    must(job.reconcile_after_at(policy) == expected, "reconcile is due as documented")
}

/// A dead letter tells its conversation and is counted, and nothing else is.
fn dead_letters(old: &Job, write: &Write) -> Result<(), String> {
    let count =
        |wanted: fn(&Effect) -> bool| write.step.effects.iter().filter(|effect| wanted(effect)).count();
    let told = count(|effect| matches!(effect, Effect::FailConversation { .. }));
    let counted = count(|effect| matches!(effect, Effect::CountDeadLetter));
    let dies = !old.state.is_terminal() && matches!(write.step.job.state, State::DeadLetter { .. });
    must(
        told == usize::from(dies) && counted == usize::from(dies),
        "a dead letter is told and counted once",
    )?;
    let completes = count(|effect| matches!(effect, Effect::CompleteConversation { .. }));
    must(completes == usize::from(write.want == Want::Complete), "a completion writes its results once")
}

/// If every task were lost and every process dead, the look at the due time alone brings the job on.
pub(crate) fn owner(job: &Job, policy: &Policy) -> Result<(), String> {
    let Some(due) = job.reconcile_after_at(policy) else {
        return must(job.state.is_terminal(), "a live job has an owner and a due time");
    };
    must(!job.state.is_terminal(), "terminal jobs are never due")?;
    let look = |moment| decide(job, Command::Reconcile { task_waiting: false }, moment, policy);
    must(
        look(due - Duration::milliseconds(1)) == Err(Refusal::NotDue),
        "reconcile before its due time is refused",
    )?;
    let step = look(due).map_err(|refusal| format!("broken: the look does nothing: {refusal:?}"))?;
    let next = step.job.reconcile_after_at(policy);
    let parked = matches!(step.job.state, State::BlockedByok);
    must(parked || next.is_none_or(|next| next > due), "a look brings the job on")?;
    must(enqueues(&step) == matches!(step.job.state, State::Queued { .. }), "a look enqueues what it queues")
}

fn leased(job: &Job) -> bool {
    matches!(job.state, State::Leased(_))
}

//! What must hold in every state, and what must be reachable lest the model say nothing.

use chrono::Duration;
use job::{Command, Effect, FailureCode, Outcome, Queue, Refusal, State, decide};
use stateright::Property;

use crate::act::World;
use crate::system::{Conversation, System, policy};

pub(crate) const KEPT_ONCE: &str = "a revision is kept at most once";

/// Everything that must never break, and those of the reachable states that a world names.
pub(crate) fn all(expected: &[&str]) -> Vec<Property<World>> {
    let named = reachable().into_iter().filter(|property| expected.contains(&property.name));
    never_broken().into_iter().chain(named).collect()
}

fn never_broken() -> Vec<Property<World>> {
    vec![
        Property::always(KEPT_ONCE, |_, system: &System| system.record.kept <= 1),
        Property::always("no superseded run writes", |_, system: &System| {
            !system.record.superseded_run_wrote
        }),
        Property::always("no keyless lease of a job that requires keys", |_, system: &System| {
            !system.record.keyless_lease
        }),
        Property::always("a job that requires keys never queues", |_, system: &System| {
            !(system.job.requires_keys && matches!(system.job.state, State::Queued { .. }))
        }),
        Property::always("numbers never go back", |_, system: &System| !system.record.number_went_back),
        Property::always("a completed job never moves", |_, system: &System| !system.record.terminal_moved),
        Property::always("a crash is taken back once, and nothing with it", |_, system: &System| {
            !system.record.proven_twice && !system.record.proof_moved_job
        }),
        Property::always("a live job has an owner", |_, system: &System| has_an_owner(system)),
        Property::always("job and conversation agree", |_, system: &System| agrees(system)),
        Property::always("limits hold", |_, system: &System| within_limits(system)),
    ]
}

/// If every task were lost and every worker dead, the look at `reconcile_after_at` alone must bring the job
/// on: a new task exactly if it is queued, a parked job with its deadline, or an end; and the next look is later.
fn has_an_owner(system: &System) -> bool {
    let Some(due) = system.job.reconcile_after_at(&policy()) else { return system.job.state.is_terminal() };
    let look = |seconds| {
        let moment = due - Duration::seconds(seconds);
        decide(&system.job, Command::Reconcile { task_waiting: false }, moment, &policy())
    };
    let early = look(1) == Err(Refusal::NotDue);
    let brings_on = look(0).is_ok_and(|step| {
        let enqueued = step.effects.iter().any(|effect| matches!(effect, Effect::Enqueue { .. }));
        let queued = matches!(step.job.state, State::Queued { .. });
        let moved_on = step.job.reconcile_after_at(&policy()).is_none_or(|next| next > due);
        enqueued == queued && (moved_on || matches!(step.job.state, State::BlockedByok))
    });
    early && brings_on && !system.job.state.is_terminal()
}

fn agrees(system: &System) -> bool {
    let expected = match &system.job.state {
        State::Queued { .. } | State::Leased(_) | State::BlockedByok => Conversation::Processing,
        State::Completed { outcome: Outcome::Withdrawn } => Conversation::Deleted,
        State::Completed { .. } => Conversation::Completed,
        State::DeadLetter { .. } => Conversation::Failed,
    };
    system.conversation == expected
}

fn within_limits(system: &System) -> bool {
    let job = &system.job;
    let live = !job.state.is_terminal();
    let spent = job.attempts >= policy().max_attempts || job.crashes >= policy().max_crashes;
    !(live && spent) && job.runs >= job.attempts
}

fn reachable() -> Vec<Property<World>> {
    vec![
        Property::sometimes("kept", |_, system: &System| kept(system)),
        Property::sometimes("kept after a crash and a failure", |_, system: &System| {
            kept(system) && system.job.crashes == 1 && system.job.attempts == 1
        }),
        Property::sometimes("kept after a replay", |_, system: &System| {
            kept(system) && system.job.queue == Queue::Finalization
        }),
        Property::sometimes("kept with keys", |_, system: &System| kept(system) && system.job.requires_keys),
        Property::sometimes("kept after its task was lost", |_, system: &System| {
            kept(system) && system.budget.lost_tasks == 0
        }),
        Property::sometimes("two believe that they run it", |_, system: &System| {
            system.runs.iter().all(Option::is_some)
        }),
        Property::sometimes("a completion races with a take-over", |_, system: &System| {
            let under_way = |wanted: fn(&State) -> bool| {
                system.writes.iter().flatten().any(|write| wanted(&write.step.job.state))
            };
            under_way(|state| matches!(state, State::Leased(_)))
                && under_way(|state| matches!(state, State::Completed { outcome: Outcome::Kept }))
        }),
        Property::sometimes("kept by a hurried run", |_, system: &System| system.record.kept_hurried),
        Property::sometimes("cancelled under a run", |_, system: &System| {
            dead_of(system, FailureCode::CancelledByOperator) && system.runs.iter().any(Option::is_some)
        }),
        Property::sometimes("kept after a cancellation", |_, system: &System| {
            kept(system) && system.record.cancelled
        }),
        Property::sometimes("withdrawn under a run", |_, system: &System| {
            system.conversation == Conversation::Deleted && system.runs.iter().any(Option::is_some)
        }),
        Property::sometimes("marked under a keyless run", |_, system: &System| {
            system.job.requires_keys && system.runs.iter().flatten().any(|run| !run.keys)
        }),
        Property::sometimes("kept after a crash was taken back", |_, system: &System| {
            kept(system) && system.job.crashes == 0 && system.record.proven != 0
        }),
        Property::sometimes("poisoned after a crash was taken back", |_, system: &System| {
            dead_of(system, FailureCode::PoisonCrash) && system.record.proven != 0
        }),
        Property::sometimes("poisoned", |_, system: &System| dead_of(system, FailureCode::PoisonCrash)),
        Property::sometimes("abandoned", |_, system: &System| {
            dead_of(system, FailureCode::ByokSessionAbandoned)
        }),
        Property::sometimes("out of attempts", |_, system: &System| dead_of(system, FailureCode::Internal)),
    ]
}

fn kept(system: &System) -> bool {
    matches!(system.job.state, State::Completed { outcome: Outcome::Kept })
}

fn dead_of(system: &System, expected: FailureCode) -> bool {
    matches!(system.job.state, State::DeadLetter { code } if code == expected)
}

//! Invariants after any sequence of commands, from any sender at any time.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may stop at a surprise")]

use chrono::{DateTime, Duration};
use job::{
    Admission, Command, Effect, Epoch, FailureCode, Generation, Job, JobId, Origin, Outcome, Policy, Refusal,
    State, Step, Timestamp, WorkerId, decide,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

/// A command whose numbers are relative to the job's present ones, so that most of them mean something.
#[derive(Clone, Debug)]
struct Said {
    command: Command,
    /// Seconds since the one before; time does not go back.
    after: i64,
}

fn code() -> impl Strategy<Value = FailureCode> {
    prop_oneof![4 => Just(FailureCode::Internal), 1 => select(FailureCode::ALL)]
}

/// Epoch and generation stand for an offset from the present one here; see `addressed`.
fn command() -> impl Strategy<Value = Command> {
    let offset = || prop_oneof![8 => Just(0_i64), 1 => Just(-1), 1 => Just(1)];
    let worker = || WorkerId("worker".into());
    prop_oneof![
        8 => (offset(), any::<bool>()).prop_map(move |(by, keys)| Command::Claim {
            generation: Generation(by), worker: worker(), keys
        }),
        2 => offset().prop_map(|by| Command::Renew { epoch: Epoch(by) }),
        4 => offset().prop_map(|by| Command::ProveAlive { epoch: Epoch(by) }),
        2 => (offset(), -5..5_i64).prop_map(|(by, delay)| Command::Release {
            epoch: Epoch(by), delay: Duration::seconds(delay)
        }),
        1 => (offset(), select(&[Outcome::Kept, Outcome::Discarded])).prop_map(|(by, outcome)| {
            Command::Complete { epoch: Epoch(by), outcome }
        }),
        5 => (offset(), code(), proptest::option::of(0..90_i64), -400..400_i32).prop_map(
            |(by, code, retry_after, jitter_permille)| Command::Fail {
                epoch: Epoch(by), code, retry_after: retry_after.map(Duration::seconds), jitter_permille
            }
        ),
        1 => offset().prop_map(|by| Command::Park { epoch: Epoch(by) }),
        1 => Just(Command::RequireKeys),
        6 => any::<bool>().prop_map(|task_waiting| Command::Reconcile { task_waiting }),
        3 => (prop::bool::weighted(0.1), prop::bool::weighted(0.1), prop::bool::weighted(0.2)).prop_map(
            |(superseded, conversation_gone, requires_keys)| Command::Replay {
                superseded, conversation_gone, requires_keys
            }
        ),
        1 => Just(Command::Discard),
        1 => Just(Command::Supersede),
        2 => Just(Command::RunNow),
        1 => Just(Command::Cancel),
        1 => prop::bool::weighted(0.2).prop_map(|gone| if gone { Command::Withdraw } else { Command::Discard }),
    ]
}

fn said() -> impl Strategy<Value = Said> {
    let after = select(&[0, 0, 1, 29, 30, 31, 120, 300, 1_500, 86_400, 14 * 86_400]);
    (command(), after).prop_map(|(command, after)| Said { command, after })
}

fn addressed(command: Command, job: &Job) -> Command {
    let near = |by: Epoch| Epoch(job.epoch.0 + by.0);
    match command {
        Command::Claim { generation, worker, keys } => {
            Command::Claim { generation: Generation(job.generation.0 + generation.0), worker, keys }
        }
        Command::Renew { epoch } => Command::Renew { epoch: near(epoch) },
        Command::ProveAlive { epoch } => Command::ProveAlive { epoch: near(epoch) },
        Command::Release { epoch, delay } => Command::Release { epoch: near(epoch), delay },
        Command::Complete { epoch, outcome } => Command::Complete { epoch: near(epoch), outcome },
        Command::Fail { epoch, code, retry_after, jitter_permille } => {
            Command::Fail { epoch: near(epoch), code, retry_after, jitter_permille }
        }
        Command::Park { epoch } => Command::Park { epoch: near(epoch) },
        other => other,
    }
}

fn at(seconds: i64) -> Timestamp {
    DateTime::from_timestamp(1_700_000_000 + seconds, 0).unwrap()
}

fn admitted(requires_keys: bool) -> Step {
    let id = JobId::derive("user", "conversation", 1);
    Job::admit(Admission { id, origin: Origin::Finalize, force_process: true, requires_keys }, at(0))
}

/// What must be true of any job that the machine made.
fn sound(job: &Job, policy: &Policy) -> Result<(), TestCaseError> {
    prop_assert_eq!(job.reconcile_after_at(policy).is_none(), job.state.is_terminal());
    let queued = matches!(job.state, State::Queued { .. });
    prop_assert!(!(job.requires_keys && queued));
    match &job.state {
        State::Queued { .. } => {}
        State::Leased(lease) => {
            prop_assert_eq!(lease.epoch, job.epoch);
            prop_assert!(lease.ready_at <= lease.claimed_at && lease.claimed_at < lease.expires_at);
        }
        State::BlockedByok => prop_assert!(job.requires_keys && job.first_blocked_at.is_some()),
        State::Completed { .. } => prop_assert_eq!(job.last_code, None),
        State::DeadLetter { code } => prop_assert_eq!(job.last_code, Some(*code)),
    }
    prop_assert!(queued || (job.next_check_at.is_none()));
    prop_assert!(!job.hurried || queued || matches!(job.state, State::Leased(_)));
    let live = !job.state.is_terminal();
    prop_assert!(!live || (job.attempts < policy.max_attempts && job.crashes < policy.max_crashes));
    prop_assert!(job.runs >= job.attempts + job.crashes);
    prop_assert!(job.epoch.0 >= i64::from(job.runs) && job.generation.0 >= 1);
    Ok(())
}

/// What must be true of any granted step.
fn lawful(before: &Job, command: &Command, step: &Step) -> Result<(), TestCaseError> {
    let after = &step.job;
    prop_assert!(after.epoch >= before.epoch && after.generation >= before.generation);
    let enqueued = step.effects.iter().filter(|effect| matches!(effect, Effect::Enqueue { .. })).count();
    prop_assert_eq!(after.dispatch.0, before.dispatch.0 + i64::try_from(enqueued).unwrap());
    let queued = matches!(after.state, State::Queued { .. });
    prop_assert!(enqueued == 0 || queued);
    prop_assert!(after.requires_keys || !before.requires_keys, "nothing takes that back");
    prop_assert_eq!(
        (&after.id, after.origin, after.force_process),
        (&before.id, before.origin, before.force_process)
    );

    let dies =
        !matches!(before.state, State::DeadLetter { .. }) && matches!(after.state, State::DeadLetter { .. });
    let told = step.effects.iter().filter(|effect| matches!(effect, Effect::FailConversation { .. })).count();
    let counted = step.effects.iter().filter(|effect| matches!(effect, Effect::CountDeadLetter)).count();
    prop_assert_eq!((told, counted), (usize::from(dies), usize::from(dies)));

    if matches!(after.state, State::Leased(_)) && after.epoch > before.epoch {
        let Command::Claim { keys, .. } = command else { return Err(TestCaseError::fail("leased unasked")) };
        prop_assert!(*keys || !before.requires_keys, "a keyless lease");
        prop_assert_eq!(after.runs, before.runs + 1);
    }
    if matches!(before.state, State::Completed { .. }) {
        prop_assert_eq!(after, before);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_sequence_of_commands_keeps_the_invariants(requires_keys: bool, story in vec(said(), 1..60)) {
        let policy = Policy { max_attempts: 3, max_crashes: 3, ..Policy::default() };
        let mut job = admitted(requires_keys).job;
        let mut now = 0;
        sound(&job, &policy)?;
        for Said { command, after } in story {
            now += after;
            let command = addressed(command, &job);
            let Ok(step) = decide(&job, command.clone(), at(now), &policy) else { continue };
            lawful(&job, &command, &step)?;
            sound(&step.job, &policy)?;
            job = step.job;
        }
    }

    #[test]
    fn any_live_job_ends_by_reconcile_alone(requires_keys: bool, story in vec(said(), 1..40)) {
        let policy = Policy::default();
        let mut job = admitted(requires_keys).job;
        let mut now = 0;
        for Said { command, after } in story {
            now += after;
            if let Ok(step) = decide(&job, addressed(command, &job), at(now), &policy) {
                job = step.job;
            }
        }
        // Each check dispatches it again, and each worker that claims it dies.
        for _ in 0..=2 * policy.max_crashes {
            let Some(due) = job.reconcile_after_at(&policy) else { break };
            let early = decide(&job, Command::Reconcile { task_waiting: false }, due - Duration::seconds(1), &policy);
            prop_assert_eq!(early, Err(Refusal::NotDue));
            job = decide(&job, Command::Reconcile { task_waiting: false }, due, &policy).expect("due").job;
            if let State::Queued { ready_at } = job.state {
                let claim = Command::Claim { generation: job.generation, worker: WorkerId("doomed".into()), keys: false };
                job = decide(&job, claim, due.max(ready_at), &policy).expect("ready").job;
            }
        }
        prop_assert!(job.state.is_terminal(), "still {}", job.state.status());
    }
}

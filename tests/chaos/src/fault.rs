//! Faults: how each is injected and lifted.

mod clients;
mod database;
mod neighbours;
mod process;
mod tasks;

use std::time::Duration;

use rand::{RngExt, rngs::StdRng};
use task_queue::Kind;

use crate::journal::Broken;
use crate::model::Mood;
use crate::plan::{Dispatch, Plan};
use crate::receiver::Manner;
use crate::world::World;

/// The faults of a plan.
///
/// # Panics
/// When a name is unknown.
pub(crate) fn of(plan: &Plan) -> Vec<Fault> {
    for wanted in &plan.only {
        let known = Fault::ALL.map(|(_, name)| name);
        assert!(known.contains(&wanted.as_str()), "{wanted} is none of {}", known.join(", "));
    }
    let is_wanted = |(fault, name): &(Fault, &str)| {
        (plan.dispatch == Dispatch::CloudTasks || !fault.is_of_task_queue())
            && (plan.only.is_empty() || plan.only.iter().any(|wanted| wanted == name))
    };
    Fault::ALL.into_iter().filter(is_wanted).map(|(fault, _)| fault).collect()
}

/// A kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    Kill,
    Terminate,
    Freeze,
    PostgresFast,
    PostgresImmediate,
    PostgresFailover,
    SessionsTerminated,
    ConnectionsEaten,
    LocksHeld,
    DiskFull,
    ModelSlow,
    ModelHanging,
    ModelLying,
    ModelFailing,
    HooksHanging,
    HooksRefusing,
    HooksRedirecting,
    HookGone,
    ClientsHangUp,
    TasksLost,
    TasksDoubled,
    TasksLate,
    TasksRefused,
    TasksUnanswered,
    TasksTakenUnanswered,
    TasksUnknown,
    TokensRotated,
}

impl Fault {
    /// Every one, with its name.
    pub(crate) const ALL: [(Self, &str); 27] = [
        (Self::Kill, "sigkill"),
        (Self::Terminate, "sigterm"),
        (Self::Freeze, "sigstop"),
        (Self::PostgresFast, "postgres-fast-restart"),
        (Self::PostgresImmediate, "postgres-immediate-restart"),
        (Self::PostgresFailover, "postgres-failover"),
        (Self::SessionsTerminated, "sessions-terminated"),
        (Self::ConnectionsEaten, "connections-eaten"),
        (Self::LocksHeld, "locks-held"),
        (Self::DiskFull, "disk-full"),
        (Self::ModelSlow, "model-slow"),
        (Self::ModelHanging, "model-hanging"),
        (Self::ModelLying, "model-lying"),
        (Self::ModelFailing, "model-failing"),
        (Self::HooksHanging, "hooks-hanging"),
        (Self::HooksRefusing, "hooks-refusing"),
        (Self::HooksRedirecting, "hooks-redirecting"),
        (Self::HookGone, "hook-gone"),
        (Self::ClientsHangUp, "clients-hang-up"),
        (Self::TasksLost, "tasks-lost"),
        (Self::TasksDoubled, "tasks-doubled"),
        (Self::TasksLate, "tasks-late"),
        (Self::TasksRefused, "tasks-refused"),
        (Self::TasksUnanswered, "tasks-unanswered"),
        (Self::TasksTakenUnanswered, "tasks-taken-unanswered"),
        (Self::TasksUnknown, "tasks-unknown"),
        (Self::TokensRotated, "tokens-rotated"),
    ];

    /// Its name.
    pub(crate) fn name(self) -> &'static str {
        Self::ALL.iter().find(|(fault, _)| *fault == self).map_or("unnamed", |(_, name)| *name)
    }

    /// Whether it needs a task queue.
    pub(crate) const fn is_of_task_queue(self) -> bool {
        matches!(
            self,
            Self::TasksLost
                | Self::TasksDoubled
                | Self::TasksLate
                | Self::TasksRefused
                | Self::TasksUnanswered
                | Self::TasksTakenUnanswered
                | Self::TasksUnknown
                | Self::TokensRotated
        )
    }
}

/// Injects a fault, waits, lifts it, and records it in the journal.
pub(crate) async fn inject(fault: Fault, world: &World, chance: &mut StdRng) -> Broken {
    let began = world.journal.now();
    let hold = Duration::from_millis(chance.random_range(1_500..5_000));
    let slot = chance.random_range(0..world.fleet.len());
    let mut lifted = None;
    let pid = match fault {
        Fault::Kill => {
            let pid = world.fleet.kill(slot).await;
            lifted = Some(world.journal.now());
            process::come_back(world, slot, hold).await;
            pid
        }
        Fault::Terminate => {
            let pid = world.fleet.stop(slot, Duration::from_secs(12)).await;
            lifted = Some(world.journal.now());
            process::come_back(world, slot, hold / 4).await;
            pid
        }
        Fault::Freeze => process::freeze(world, slot, world.plan.lease_length() + hold).await,
        Fault::PostgresFast => database::restart(world, "fast", hold / 3).await,
        Fault::PostgresImmediate => database::restart(world, "immediate", hold / 3).await,
        Fault::PostgresFailover => database::fail_over(world, hold / 3).await,
        Fault::SessionsTerminated => database::terminate(world, hold).await,
        Fault::ConnectionsEaten => database::eat_connections(world, hold).await,
        Fault::LocksHeld => database::hold_locks(world, hold).await,
        Fault::DiskFull => database::fill_disk(world, chance, hold).await,
        Fault::ModelSlow => neighbours::model(world, Mood::Slow, hold).await,
        Fault::ModelHanging => neighbours::model(world, Mood::Hanging, hold).await,
        Fault::ModelLying => neighbours::model(world, Mood::Lying, hold / 3).await,
        Fault::ModelFailing => neighbours::model(world, Mood::Failing, hold / 3).await,
        Fault::HooksHanging => neighbours::hooks(world, Manner::Hanging, hold).await,
        Fault::HooksRefusing => neighbours::hooks(world, Manner::Refusing, hold).await,
        Fault::HooksRedirecting => neighbours::hooks(world, Manner::Redirecting, hold).await,
        Fault::HookGone => neighbours::gone(world, chance).await,
        Fault::ClientsHangUp => clients::hang_up(world, chance, hold).await,
        Fault::TasksLost => tasks::go_wrong(world, &[Kind::Lose], hold).await,
        Fault::TasksDoubled => tasks::go_wrong(world, &[Kind::Double], hold).await,
        Fault::TasksLate => tasks::go_wrong(world, &[Kind::Late { millis: 9_000 }], hold).await,
        Fault::TasksRefused => tasks::refuse(world, chance, hold).await,
        Fault::TasksUnanswered => tasks::go_wrong(world, &[Kind::CreateHang], hold).await,
        Fault::TasksTakenUnanswered => tasks::go_wrong(world, &[Kind::CreateHangAfterCommit], hold).await,
        Fault::TasksUnknown => {
            tasks::go_wrong(world, &[Kind::Lose, Kind::GetStatus { status: 503 }], hold).await
        }
        Fault::TokensRotated => tasks::rotate(world, hold).await,
    };
    let lifted = lifted.unwrap_or_else(|| world.journal.now());
    Broken { name: fault.name(), began, lifted, pid }
}

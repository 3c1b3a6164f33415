//! What may happen next.

use chrono::Duration;
use job::{Command, Epoch, FailureCode, Outcome, Refusal, WorkerId, decide};
use stateright::{Model, Property};

use crate::properties;
use crate::system::{Actor, Budget, Conversation, Run, System, Verb, Write, at, policy};

/// Which part of the world is looked at: all of it at once would take hours.
#[derive(Clone)]
pub(crate) struct World {
    /// Whether a store compares the row's version with the one that was read.
    pub(crate) compare_and_set: bool,
    /// Whether the job is admitted as one that requires keys.
    pub(crate) requires_keys: bool,
    /// With or without the user's keys: how the workers claim.
    pub(crate) claims: &'static [bool],
    /// Who takes part.
    pub(crate) actors: &'static [Actor],
    /// What may still happen that costs nothing.
    pub(crate) budget: Budget,
    /// The clock stops here.
    pub(crate) horizon: i64,
    /// What must be reachable.
    pub(crate) expected: &'static [&'static str],
}

/// Verbs under way at once. The first of them that stores makes all others stale, so that a third would
/// show nothing that two do not.
const VERBS_AT_ONCE: usize = 2;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Action {
    Tick,
    LoseTask,
    /// A worker's process dies, between any two of its actions.
    Die(usize),
    /// An actor reads the row and decides.
    Read(Actor, Intent),
    /// It stores what it decided.
    Store(Actor),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Intent {
    Claim { keys: bool },
    Renew,
    Release { delay: i64 },
    Complete,
    Fail,
    Park,
    Reconcile,
    Replay,
    RunNow,
    Cancel,
    Withdraw,
    RequireKeys,
}

impl Model for World {
    type State = System;
    type Action = Action;

    fn init_states(&self) -> Vec<System> {
        vec![System::admitted(self.requires_keys, self.budget)]
    }

    fn actions(&self, system: &System, actions: &mut Vec<Action>) {
        if system.now < self.horizon {
            actions.push(Action::Tick);
        }
        if system.task.is_some() && system.budget.lost_tasks > 0 {
            actions.push(Action::LoseTask);
        }
        let idle = system.writes.iter().flatten().count() < VERBS_AT_ONCE;
        for &actor in self.actors {
            if system.writes[actor.slot()].is_some() {
                actions.push(Action::Store(actor));
            } else if idle {
                self.intents(system, actor, |intent| actions.push(Action::Read(actor, intent)));
            }
        }
        for index in 0..system.runs.len() {
            if system.runs[index].is_some() || system.writes[index].is_some() {
                actions.push(Action::Die(index));
            }
        }
    }

    fn next_state(&self, before: &System, action: Action) -> Option<System> {
        let mut system = before.clone();
        match action {
            Action::Tick => system.now += 1,
            Action::LoseTask => {
                system.task = None;
                system.budget.lost_tasks -= 1;
            }
            Action::Die(index) => {
                system.runs[index] = None;
                system.writes[index] = None;
            }
            Action::Read(actor, intent) => read(&mut system, actor, intent),
            Action::Store(actor) => system.store(actor, self.compare_and_set),
        }
        // What changes nothing (most refusals) is no step.
        (system != *before).then(|| system.with_workers_in_order())
    }

    fn properties(&self) -> Vec<Property<Self>> {
        properties::all(self.expected)
    }
}

impl World {
    fn intents(&self, system: &System, actor: Actor, mut may: impl FnMut(Intent)) {
        match actor {
            Actor::Worker(index) => match system.runs[index] {
                None => self.claims.iter().for_each(|&keys| may(Intent::Claim { keys })),
                Some(run) => run_intents(system, run, may),
            },
            Actor::Reconciler => may(Intent::Reconcile),
            Actor::Operator => {
                if system.budget.replays > 0 {
                    may(Intent::Replay);
                }
                if system.budget.orders > 0 {
                    may(Intent::RunNow);
                    may(Intent::Cancel);
                }
            }
            Actor::User => {
                if system.conversation != Conversation::Deleted {
                    may(Intent::Withdraw);
                }
                if !system.job.requires_keys {
                    may(Intent::RequireKeys);
                }
            }
        }
    }
}

fn run_intents(system: &System, run: Run, mut may: impl FnMut(Intent)) {
    may(Intent::Renew);
    may(Intent::Complete);
    may(Intent::Fail);
    if system.budget.releases > 0 {
        may(Intent::Release { delay: 0 });
        may(Intent::Release { delay: 1 });
    }
    if run.keys && system.budget.parks > 0 {
        may(Intent::Park);
    }
}

fn read(system: &mut System, actor: Actor, intent: Intent) {
    let now = at(system.now);
    let (command, verb) = command(system, actor, intent);
    match decide(&system.job, command, now, &policy()) {
        Ok(step) => {
            match intent {
                Intent::Replay => system.budget.replays -= 1,
                Intent::RunNow | Intent::Cancel => system.budget.orders -= 1,
                Intent::Release { .. } => system.budget.releases -= 1,
                Intent::Park => system.budget.parks -= 1,
                _ => {}
            }
            system.writes[actor.slot()] = Some(Write { step, verb });
        }
        Err(Refusal::LeaseLost) => {
            if let Actor::Worker(index) = actor {
                system.writes[index] = proof(system, index);
                system.runs[index] = None;
            }
        }
        Err(_) => {}
    }
}

/// What a worker that has lost its lease says last: that it lives.
fn proof(system: &System, index: usize) -> Option<Write> {
    let run = system.runs[index]?;
    let command = Command::ProveAlive { epoch: run.epoch };
    let step = decide(&system.job, command, at(system.now), &policy()).ok()?;
    Some(Write { step, verb: Verb::Proof { claim: run.claim } })
}

fn command(system: &System, actor: Actor, intent: Intent) -> (Command, Verb) {
    let (claim, epoch) = match actor {
        Actor::Worker(index) => system.runs[index].map_or((0, Epoch(0)), |run| (run.claim, run.epoch)),
        _ => (0, Epoch(0)),
    };
    let run = |ends| Verb::Run { claim, ends };
    match intent {
        Intent::Claim { keys } => {
            let worker = WorkerId("worker".into());
            (Command::Claim { generation: system.job.generation, worker, keys }, Verb::Claim { keys })
        }
        Intent::Renew => (Command::Renew { epoch }, run(false)),
        Intent::Release { delay } => (Command::Release { epoch, delay: Duration::seconds(delay) }, run(true)),
        Intent::Complete => (Command::Complete { epoch, outcome: Outcome::Kept }, run(true)),
        Intent::Fail => {
            let code = FailureCode::Internal;
            (Command::Fail { epoch, code, retry_after: None, jitter_permille: 0 }, run(true))
        }
        Intent::Park => (Command::Park { epoch }, run(true)),
        Intent::Reconcile => {
            let task_waiting = system.task.is_some_and(|due| due <= at(system.now));
            (Command::Reconcile { task_waiting }, Verb::Reconcile)
        }
        Intent::Replay => {
            let conversation_gone = system.conversation == Conversation::Deleted;
            (Command::Replay { superseded: false, conversation_gone, requires_keys: false }, Verb::Other)
        }
        Intent::RunNow => (Command::RunNow, Verb::Other),
        Intent::Cancel => (Command::Cancel, Verb::Other),
        Intent::Withdraw => (Command::Withdraw, Verb::Other),
        Intent::RequireKeys => (Command::RequireKeys, Verb::Other),
    }
}

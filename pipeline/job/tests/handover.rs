//! The hand-over to a task queue, every interleaving of it: two dispatchers, a queue that loses tasks, doubles deliveries and
//! takes tasks without an answer, one run at a time, and a reconciler that asks the queue before it raises a generation.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may stop at a surprise")]

use std::collections::BTreeSet;

use chrono::{DateTime, Duration};
use job::{
    Admission, Command, Dispatch, Epoch, FailureCode, Generation, Job, JobId, Origin, Outcome, Policy,
    Refusal, State, Timestamp, WorkerId, decide,
};
use stateright::{Checker, Model, Property};

/// What a task is named by.
type Task = (Generation, Dispatch);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct System {
    now: i64,
    job: Job,
    /// The newest dispatch that the row says the queue has.
    handed: i64,
    /// What each dispatcher has taken, and whether the queue has said that it has it.
    dispatchers: [Option<(Task, bool)>; 2],
    /// Names that the queue has seen: a task of the same name is not created again.
    names: BTreeSet<Task>,
    tasks: BTreeSet<Task>,
    run: Option<Epoch>,
    /// Dispatches under which a run began.
    begun: BTreeSet<Dispatch>,
    failures: u32,
    /// How many tasks may still be lost, delivered twice or taken without an answer: what keeps the model finite.
    bad_luck: u8,
    seen: Seen,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Seen {
    lost: bool,
    doubled: bool,
    unanswered: bool,
    /// A second create was answered with "already exists".
    known: bool,
    run_twice: bool,
    redispatched: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Action {
    Tick,
    Take(usize),
    Create(usize),
    /// The queue has the task, and its answer is lost.
    CreateUnanswered(usize),
    Store(usize),
    Forget(usize),
    Lose(Task),
    Deliver(Task),
    /// Delivered, and to be delivered once more.
    DeliverTwice(Task),
    Complete,
    Fail,
    Die,
    Reconcile,
}

/// The clock stops here.
const HORIZON: i64 = 2;

struct World;

impl Model for World {
    type State = System;
    type Action = Action;

    fn init_states(&self) -> Vec<System> {
        let admission = Admission {
            id: JobId::from_text("j"),
            origin: Origin::Finalize,
            force_process: false,
            requires_keys: false,
        };
        vec![System {
            now: 0,
            job: Job::admit(admission, at(0)).job,
            handed: 0,
            dispatchers: [None; 2],
            names: BTreeSet::new(),
            tasks: BTreeSet::new(),
            run: None,
            begun: BTreeSet::new(),
            failures: 0,
            bad_luck: 2,
            seen: Seen::default(),
        }]
    }

    fn actions(&self, system: &System, actions: &mut Vec<Action>) {
        if system.now < HORIZON {
            actions.push(Action::Tick);
        }
        for index in 0..2 {
            match system.dispatchers[index] {
                None if system.is_unhanded() => actions.push(Action::Take(index)),
                None => {}
                Some((_, false)) => {
                    actions.extend([Action::Create(index), Action::Forget(index)]);
                    if system.bad_luck > 0 {
                        actions.push(Action::CreateUnanswered(index));
                    }
                }
                Some((_, true)) => actions.extend([Action::Store(index), Action::Forget(index)]),
            }
        }
        for &task in &system.tasks {
            actions.push(Action::Deliver(task));
            if system.bad_luck > 0 {
                actions.extend([Action::Lose(task), Action::DeliverTwice(task)]);
            }
        }
        if system.run.is_some() {
            actions.extend([Action::Complete, Action::Fail, Action::Die]);
        }
        actions.push(Action::Reconcile);
    }

    fn next_state(&self, before: &System, action: Action) -> Option<System> {
        let mut system = before.clone();
        system.act(action);
        // The two dispatchers are alike: of two states that differ only in who is who, one stands for both.
        system.dispatchers.sort();
        (system != *before).then_some(system)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let mut all = vec![
            Property::<Self>::always(
                "a dispatch is run once, unless its lease ran out",
                |_, system: &System| !system.seen.run_twice,
            ),
            Property::always("a failure alone spends an attempt", |_, system: &System| {
                system.job.attempts == system.failures
            }),
            Property::always("what is said to be handed over was", |_, system: &System| {
                system.handed == 0 || system.names.iter().any(|(_, dispatch)| dispatch.0 == system.handed)
            }),
            Property::always("the queue has no task of a dispatch to come", |_, system: &System| {
                system.tasks.iter().all(|(_, dispatch)| *dispatch <= system.job.dispatch)
            }),
            Property::always(
                "a queued job is handed over, waited for, or dispatched anew",
                |_, system: &System| system.goes_on(),
            ),
        ];
        all.extend([
            Property::sometimes("completed after its task was lost", |_, system: &System| {
                system.is_completed() && system.seen.lost && system.seen.redispatched
            }),
            Property::sometimes("completed after a doubled delivery", |_, system: &System| {
                system.is_completed() && system.seen.doubled
            }),
            Property::sometimes("completed after a create without an answer", |_, system: &System| {
                system.is_completed() && system.seen.unanswered && system.seen.known
            }),
            Property::sometimes("completed after a failure", |_, system: &System| {
                system.is_completed() && system.failures > 0
            }),
        ]);
        all
    }
}

impl System {
    fn act(&mut self, action: Action) {
        match action {
            Action::Tick => self.now += 1,
            Action::Take(index) => {
                self.dispatchers[index] = Some(((self.job.generation, self.job.dispatch), false));
            }
            Action::Create(index) => {
                if let Some((task, is_created)) = &mut self.dispatchers[index] {
                    *is_created = true;
                    match self.names.insert(*task) {
                        true => drop(self.tasks.insert(*task)),
                        false => self.seen.known = true,
                    }
                }
            }
            Action::CreateUnanswered(index) => {
                self.bad_luck -= 1;
                if let Some((task, _)) = self.dispatchers[index].take()
                    && self.names.insert(task)
                {
                    self.tasks.insert(task);
                    self.seen.unanswered = true;
                }
            }
            Action::Store(index) => {
                if let Some(((_, dispatch), true)) = self.dispatchers[index].take() {
                    self.handed = self.handed.max(dispatch.0);
                }
            }
            Action::Forget(index) => self.dispatchers[index] = None,
            Action::Lose(task) => {
                self.bad_luck -= 1;
                self.tasks.remove(&task);
                self.seen.lost = true;
            }
            Action::Deliver(task) => self.deliver(task, true),
            Action::DeliverTwice(task) => {
                self.bad_luck -= 1;
                self.seen.doubled = true;
                self.deliver(task, false);
            }
            Action::Complete => self.end(|epoch| Command::Complete { epoch, outcome: Outcome::Kept }),
            Action::Fail => {
                let before = self.job.attempts;
                let code = FailureCode::Internal;
                self.end(|epoch| Command::Fail { epoch, code, retry_after: None, jitter_permille: 0 });
                self.failures += self.job.attempts - before;
            }
            Action::Die => self.run = None,
            Action::Reconcile => self.reconcile(),
        }
    }

    /// A delivery claims; what is refused for now comes again, everything else is acknowledged.
    fn deliver(&mut self, task: Task, is_last: bool) {
        let claim = Command::Claim { generation: task.0, worker: WorkerId("w".into()), keys: false };
        match decide(&self.job, claim, at(self.now), &policy()) {
            Ok(step) => {
                let takes_over = matches!(self.job.state, State::Leased(_));
                self.job = step.job;
                if matches!(self.job.state, State::Leased(_)) {
                    self.run = Some(self.job.epoch);
                    self.seen.run_twice |= !self.begun.insert(self.job.dispatch) && !takes_over;
                }
            }
            Err(Refusal::LeaseHeld { .. } | Refusal::NotYet { .. } | Refusal::Blocked) => return,
            Err(_) => {}
        }
        if is_last {
            self.tasks.remove(&task);
        }
    }

    fn end(&mut self, command: impl FnOnce(Epoch) -> Command) {
        let Some(epoch) = self.run.take() else { return };
        if let Ok(step) = decide(&self.job, command(epoch), at(self.now), &policy()) {
            self.job = step.job;
        }
    }

    /// A lease that has run out is taken back. Of a queued job the queue is asked, once the row says that it has the task.
    fn reconcile(&mut self) {
        if self.is_unhanded() {
            return;
        }
        let task_waiting = self.tasks.contains(&(self.job.generation, self.job.dispatch));
        if let Ok(step) = decide(&self.job, Command::Reconcile { task_waiting }, at(self.now), &policy()) {
            self.seen.redispatched |= self.handed > 0 && step.job.dispatch > self.job.dispatch;
            self.job = step.job;
        }
    }

    fn is_unhanded(&self) -> bool {
        matches!(self.job.state, State::Queued { .. }) && self.handed != self.job.dispatch.0
    }

    fn is_completed(&self) -> bool {
        matches!(self.job.state, State::Completed { .. })
    }

    /// Whether a queued job goes on though every dispatcher dies and nothing is delivered before it is looked at.
    fn goes_on(&self) -> bool {
        if !matches!(self.job.state, State::Queued { .. }) || self.is_unhanded() {
            return true;
        }
        let task_waiting = self.tasks.contains(&(self.job.generation, self.job.dispatch));
        let Some(due) = self.job.reconcile_after_at(&policy()) else { return false };
        let looked = decide(&self.job, Command::Reconcile { task_waiting }, due, &policy());
        looked.is_ok_and(|step| (step.job.dispatch > self.job.dispatch) != task_waiting)
    }
}

fn at(seconds: i64) -> Timestamp {
    DateTime::from_timestamp(seconds, 0).unwrap()
}

/// The documented numbers, shrunk to the few seconds that the model lives.
fn policy() -> Policy {
    Policy {
        lease: Duration::seconds(1),
        run_limit: Duration::seconds(2),
        max_attempts: 2,
        max_crashes: 2,
        max_late_runs: 3,
        staleness: Duration::seconds(1),
        back_off: [Duration::seconds(1); 4],
        release_window: Duration::seconds(2),
        byok_deadline: Duration::seconds(2),
    }
}

#[test]
fn handover_no_interleaving_loses_or_doubles_a_run() {
    World.checker().threads(1).spawn_bfs().join().assert_properties();
}

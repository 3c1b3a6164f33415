//! What the model knows of the world: one row, its task, its conversation, and five actors.

use std::hash::{DefaultHasher, Hash, Hasher};

use chrono::{DateTime, Duration};
use job::{
    Admission, Effect, Epoch, FailureCode, Job, JobId, Origin, Outcome, Policy, State, Step, Timestamp,
};

/// Who acts, each with at most one verb under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Actor {
    Worker(usize),
    Reconciler,
    Operator,
    User,
}

impl Actor {
    pub(crate) const fn slot(self) -> usize {
        match self {
            Self::Worker(index) => index,
            Self::Reconciler => 2,
            Self::Operator => 3,
            Self::User => 4,
        }
    }
}

/// A verb between its read and its store.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Write {
    pub(crate) step: Step,
    pub(crate) verb: Verb,
}

/// What the properties must know of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Verb {
    Claim {
        keys: bool,
    },
    /// A write of the run that this claim began.
    Run {
        claim: u8,
        ends: bool,
    },
    Reconcile,
    /// The word of a run that lost its lease: this claim's process lives.
    Proof {
        claim: u8,
    },
    Other,
}

/// A run as its worker believes it to be; it may long have been taken over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Run {
    /// Which of the granted claims began it: the model's own count, so that it does not take the epoch's word.
    pub(crate) claim: u8,
    pub(crate) epoch: Epoch,
    pub(crate) keys: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Conversation {
    Processing,
    Completed,
    Failed,
    Deleted,
}

/// How often the events that cost nothing may still happen: what keeps the model finite.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Budget {
    pub(crate) replays: u8,
    /// Waits and jobs that the operator ends.
    pub(crate) orders: u8,
    pub(crate) releases: u8,
    pub(crate) parks: u8,
    pub(crate) lost_tasks: u8,
}

/// What must never have happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Record {
    pub(crate) kept: u8,
    /// A run that an operator asked for at once has kept the revision.
    pub(crate) kept_hurried: bool,
    /// The operator cancelled the job.
    pub(crate) cancelled: bool,
    pub(crate) superseded_run_wrote: bool,
    pub(crate) keyless_lease: bool,
    pub(crate) number_went_back: bool,
    pub(crate) terminal_moved: bool,
    /// A bit for each claim whose crash was taken back.
    pub(crate) proven: u32,
    pub(crate) proven_twice: bool,
    pub(crate) proof_moved_job: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct System {
    pub(crate) now: i64,
    pub(crate) job: Job,
    /// A waiting task of the present generation, by its ring time. Older generations are refused anyway;
    /// that a worker may claim with or without it stands for tasks that come twice or late.
    pub(crate) task: Option<Timestamp>,
    pub(crate) conversation: Conversation,
    pub(crate) runs: [Option<Run>; 2],
    pub(crate) writes: [Option<Write>; 5],
    /// Leases granted so far.
    pub(crate) claims: u8,
    pub(crate) budget: Budget,
    pub(crate) record: Record,
}

impl System {
    /// A job as it is admitted, with or without the need of keys.
    pub(crate) fn admitted(requires_keys: bool, budget: Budget) -> Self {
        let admission = Admission {
            id: JobId::from_text("j"),
            origin: Origin::Create,
            force_process: false,
            requires_keys,
        };
        let step = Job::admit(admission, at(0));
        Self {
            now: 0,
            task: task_of(&step),
            job: step.job,
            conversation: Conversation::Processing,
            runs: [None; 2],
            writes: [const { None }; 5],
            claims: 0,
            budget,
            record: Record::default(),
        }
    }

    /// The two workers are alike: of two states that differ only in who is who, one stands for both.
    pub(crate) fn with_workers_in_order(mut self) -> Self {
        let digest = |index: usize| {
            let mut hasher = DefaultHasher::new();
            (&self.runs[index], &self.writes[index]).hash(&mut hasher);
            hasher.finish()
        };
        if digest(0) > digest(1) {
            self.runs.swap(0, 1);
            self.writes.swap(0, 1);
        }
        self
    }

    /// Stores a write: compare, set, apply its effects, tell its actor.
    pub(crate) fn store(&mut self, actor: Actor, compare_and_set: bool) {
        let Some(write) = self.writes[actor.slot()].take() else { return };
        let task = task_of(&write.step);
        self.judge(&write);
        self.keep_task(&write, task);
        self.apply(&write.step.effects);
        self.tell(actor, &write);
        self.job = write.step.job;
        // With a compare-and-set, a write whose row has moved on will find zero rows: forgotten at once, it
        // leads to the same states in fewer steps. Without, it stays and will overwrite.
        if compare_and_set {
            self.writes = [const { None }; 5];
        }
    }

    fn judge(&mut self, write: &Write) {
        let (old, new) = (&self.job, &write.step.job);
        let record = &mut self.record;
        record.number_went_back |=
            new.epoch < old.epoch || new.generation < old.generation || new.dispatch < old.dispatch;
        record.kept_hurried |=
            old.hurried && matches!(new.state, State::Completed { outcome: Outcome::Kept });
        record.cancelled |= matches!(new.state, State::DeadLetter { code: FailureCode::CancelledByOperator });
        record.terminal_moved |= matches!(old.state, State::Completed { .. }) && new != old;
        let leased = matches!(new.state, State::Leased(_));
        match write.verb {
            Verb::Claim { keys } => record.keyless_lease |= leased && old.requires_keys && !keys,
            Verb::Run { claim, .. } => record.superseded_run_wrote |= claim != self.claims,
            Verb::Proof { claim } => {
                let (bit, crashes) = (1 << claim, old.crashes.saturating_sub(1));
                record.proven_twice |= record.proven & bit != 0;
                record.proven |= bit;
                record.proof_moved_job |= *new != Job { crashes, crashed_epoch: None, ..old.clone() };
            }
            Verb::Reconcile | Verb::Other => {}
        }
    }

    /// A claim deletes the task that led to it; a new generation makes the old task void.
    fn keep_task(&mut self, write: &Write, task: Option<Timestamp>) {
        let claimed = matches!(write.verb, Verb::Claim { .. });
        if claimed || write.step.job.generation != self.job.generation {
            self.task = None;
        }
        self.task = task.or(self.task);
    }

    fn apply(&mut self, effects: &[Effect]) {
        for effect in effects {
            match effect {
                Effect::CompleteConversation { outcome } => {
                    self.conversation = Conversation::Completed;
                    self.record.kept += u8::from(*outcome == Outcome::Kept);
                }
                Effect::FailConversation { .. } => self.conversation = Conversation::Failed,
                Effect::ReopenConversation => self.conversation = Conversation::Processing,
                Effect::Enqueue { .. } | Effect::CountRetry | Effect::CountDeadLetter => {}
            }
        }
    }

    fn tell(&mut self, actor: Actor, write: &Write) {
        let job = &write.step.job;
        match (actor, write.verb) {
            (Actor::Worker(index), Verb::Claim { keys }) if matches!(job.state, State::Leased(_)) => {
                self.claims += 1;
                self.runs[index] = Some(Run { claim: self.claims, epoch: job.epoch, keys });
            }
            (Actor::Worker(index), Verb::Run { ends: true, .. }) => self.runs[index] = None,
            (Actor::User, _) if matches!(job.state, State::Completed { outcome: Outcome::Withdrawn }) => {
                self.conversation = Conversation::Deleted;
            }
            _ => {}
        }
    }
}

fn task_of(step: &Step) -> Option<Timestamp> {
    step.effects.iter().find_map(|effect| match effect {
        Effect::Enqueue { at } => Some(*at),
        _ => None,
    })
}

pub(crate) fn at(seconds: i64) -> Timestamp {
    DateTime::from_timestamp(seconds, 0).unwrap()
}

/// The documented numbers, shrunk to the few seconds that the model lives.
pub(crate) fn policy() -> Policy {
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

//! The scheduler: one queue of events in simulated time, and chance out of one seed.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use chrono::{DateTime, Duration};
use job::{Job, Policy, State, Step, Timestamp};
use rand::{RngExt, SeedableRng, rngs::StdRng};

use crate::books::{Books, Seen};

/// Milliseconds of simulated time.
pub(crate) type Millis = i64;

/// What may be switched off, to see that it is missed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Config {
    /// Stores compare the version that was read.
    pub(crate) compare_and_set: bool,
    /// The lease watch and the reconciler look.
    pub(crate) watched: bool,
    /// What happens is written down.
    pub(crate) traced: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self { compare_and_set: true, watched: true, traced: false }
    }
}

/// How long things break, and how long the world may take to come to rest afterwards.
pub(crate) const TROUBLE: Millis = 15 * 60_000;
const PEACE: Millis = 6 * 3_600_000;
pub(crate) const PROCESSES: usize = 3;

/// A row of the ledger.
pub(crate) struct Row {
    pub(crate) job: Job,
    pub(crate) version: u64,
    /// The column that the watchers select by.
    pub(crate) due: Option<Timestamp>,
    pub(crate) conversation: usize,
    pub(crate) books: Books,
}

pub(crate) struct Task {
    pub(crate) row: usize,
    pub(crate) generation: job::Generation,
    pub(crate) at: Timestamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    Processing,
    Completed,
    Failed,
    Gone,
}

pub(crate) struct Conversation {
    pub(crate) user: usize,
    pub(crate) standing: Standing,
    /// The row of its newest revision.
    pub(crate) newest: usize,
    pub(crate) revisions: i64,
}

#[derive(Default)]
pub(crate) struct Process {
    /// Raised when it dies: what an earlier life set in motion is ignored.
    pub(crate) life: u32,
    pub(crate) dead_until: Millis,
    pub(crate) frozen_until: Millis,
    pub(crate) runs: Vec<Run>,
}

/// A run as its process believes it to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) row: usize,
    pub(crate) epoch: job::Epoch,
    /// The simulation's own number of the claim: it does not take the epoch's word.
    pub(crate) claim: u64,
    pub(crate) keys: bool,
}

/// Who waits for the answer of a verb.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Actor {
    Run { process: usize, life: u32, run: Run },
    Taker { process: usize, life: u32, keys: bool },
    Watcher { process: usize, life: u32 },
}

/// What a verb wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Want {
    Claim,
    Renew,
    /// A run that lost its lease says that it lives.
    Prove,
    Complete,
    Fail(job::FailureCode),
    Release {
        delay: i64,
    },
    Park,
    Reconcile,
}

/// A verb between its read and its store.
#[derive(Clone, Debug)]
pub(crate) struct Write {
    pub(crate) row: usize,
    pub(crate) version: u64,
    pub(crate) step: Step,
    pub(crate) want: Want,
    pub(crate) actor: Actor,
    /// The generation that a claim named.
    pub(crate) generation: job::Generation,
    pub(crate) decided: Timestamp,
}

#[derive(Clone, Debug)]
pub(crate) enum Event {
    Poll(usize),
    Beat(usize),
    Look(usize),
    Pass(usize),
    Say { actor: Actor, row: usize, want: Want },
    Store(Box<Write>),
    Client,
    Operator,
    Trouble,
    Die { process: usize, life: u32, back_after: Millis },
}

struct At(Millis, u64, Event);

impl PartialEq for At {
    fn eq(&self, other: &Self) -> bool {
        (self.0, self.1) == (other.0, other.1)
    }
}
impl Eq for At {}
impl PartialOrd for At {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for At {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.0, self.1).cmp(&(other.0, other.1))
    }
}

/// The world and its clock.
pub(crate) struct Sim {
    pub(crate) config: Config,
    pub(crate) chance: StdRng,
    pub(crate) now: Millis,
    queue: BinaryHeap<Reverse<At>>,
    events: u64,
    pub(crate) rows: Vec<Row>,
    pub(crate) tasks: Vec<Task>,
    pub(crate) conversations: Vec<Conversation>,
    /// Whether a user brings own keys.
    pub(crate) users: Vec<bool>,
    pub(crate) processes: Vec<Process>,
    pub(crate) database_away_until: Millis,
    pub(crate) queue_away_until: Millis,
    pub(crate) clock_behind: Millis,
    pub(crate) claims: u64,
    pub(crate) policy: Policy,
    pub(crate) trace: Vec<String>,
    pub(crate) seen: Seen,
}

impl Sim {
    pub(crate) fn new(seed: u64, config: Config) -> Self {
        let mut sim = Self {
            config,
            chance: StdRng::seed_from_u64(seed),
            now: 0,
            queue: BinaryHeap::new(),
            events: 0,
            rows: Vec::new(),
            tasks: Vec::new(),
            conversations: Vec::new(),
            users: vec![false, false, true],
            processes: (0..PROCESSES).map(|_| Process::default()).collect(),
            database_away_until: 0,
            queue_away_until: 0,
            clock_behind: 0,
            claims: 0,
            policy: Policy::default(),
            trace: Vec::new(),
            seen: Seen::default(),
        };
        for process in 0..PROCESSES {
            sim.later(0..1_000, Event::Poll(process));
            sim.later(0..10_000, Event::Beat(process));
            if config.watched {
                sim.later(0..5_000, Event::Look(process));
                sim.later(0..300_000, Event::Pass(process));
            }
        }
        for first in [Event::Client, Event::Operator, Event::Trouble] {
            sim.later(0..5_000, first);
        }
        sim
    }

    /// Lives until everything is at rest; the first broken rule ends it.
    pub(crate) fn live(&mut self) -> Result<(), String> {
        while let Some(Reverse(At(at, _, event))) = self.queue.pop() {
            self.now = self.now.max(at);
            if self.now > TROUBLE && matches!(event, Event::Poll(_)) && self.rests() {
                return self.abandon_parked();
            }
            if self.now > TROUBLE + PEACE {
                return Err(format!("not at rest {PEACE} ms after the trouble ended: {}", self.unfinished()));
            }
            self.act(event)?;
        }
        Err("nothing happens any more".to_owned())
    }

    /// Puts an event some milliseconds ahead.
    pub(crate) fn later(&mut self, wait: std::ops::Range<Millis>, event: Event) {
        let wait = self.chance.random_range(wait);
        self.at(self.now + wait, event);
    }

    pub(crate) fn at(&mut self, at: Millis, event: Event) {
        self.events += 1;
        self.queue.push(Reverse(At(at, self.events, event)));
    }

    /// The database's clock, which may step back.
    pub(crate) fn clock(&self) -> Timestamp {
        DateTime::UNIX_EPOCH + Duration::milliseconds(self.now - self.clock_behind)
    }

    pub(crate) fn chances(&mut self, percent: u32) -> bool {
        self.chance.random_range(0..100) < percent
    }

    pub(crate) fn troubled(&self) -> bool {
        self.now < TROUBLE
    }

    /// Records what happened, when a reader asks for it.
    pub(crate) fn note(&mut self, words: impl FnOnce() -> String) {
        if self.config.traced {
            self.trace.push(format!("{:>9} {}", self.now, words()));
        }
    }

    /// Nothing is left to happen but the deadline of parked jobs.
    fn rests(&self) -> bool {
        self.rows.iter().all(|row| row.job.state.is_terminal() || matches!(row.job.state, State::BlockedByok))
    }

    fn unfinished(&self) -> String {
        let left = self.rows.iter().enumerate().filter(|(_, row)| !row.job.state.is_terminal());
        left.map(|(index, row)| format!("\n  job {index}: {:?}", row.job)).collect()
    }
}

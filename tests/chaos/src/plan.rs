//! The plan of a run.

use std::path::PathBuf;
use std::time::Duration;

/// Who carries jobs to the processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dispatch {
    /// The job table.
    Postgres,
    /// A task queue: the emulator, which loses, doubles, delays and refuses tasks.
    CloudTasks,
}

/// One run. The seed draws the order of the faults, their lengths and what clients do; the threads of the
/// processes under test keep their own time, so a seed repeats a scenario and not an interleaving.
#[derive(Clone, Debug)]
pub struct Plan {
    /// How long faults are injected.
    pub length: Duration,
    /// What is drawn.
    pub seed: u64,
    /// Who carries jobs to the processes.
    pub dispatch: Dispatch,
    /// Processes of the service, at least 1.
    pub processes: usize,
    /// Clients at once, each a person of her own.
    pub clients: usize,
    /// Lease and heartbeat of the processes, in whole seconds.
    pub lease: (u64, u64),
    /// Failures that end in a dead letter.
    pub max_attempts: u32,
    /// The faults to choose from, by name; empty: all.
    pub only: Vec<String>,
    /// Keeps the server's data, the logs and the tables of the kit here.
    pub keep: Option<PathBuf>,
    /// Says on stderr what happens.
    pub talk: bool,
}

impl Plan {
    /// A plan of that length with everything else as the kit is used most.
    pub fn new(length: Duration, seed: u64) -> Self {
        Self {
            length,
            seed,
            dispatch: Dispatch::Postgres,
            processes: 3,
            clients: 6,
            lease: (3, 1),
            max_attempts: 2,
            only: Vec::new(),
            keep: None,
            talk: true,
        }
    }

    /// Seconds in which a conversation that is refused from the beginning fails as often as ends in a dead letter: a
    /// back-off of 30 s, a fifth more at most, lies between two of few attempts.
    pub(crate) fn first_failures(&self) -> f64 {
        f64::from(self.max_attempts.saturating_sub(1)) * 38.0 + 4.0
    }

    /// The lease.
    pub(crate) fn lease_length(&self) -> Duration {
        Duration::from_secs(self.lease.0)
    }

    /// What happens, on stderr, where it is asked for.
    pub(crate) fn say(&self, words: &str) {
        if self.talk {
            eprintln!("{words}");
        }
    }
}

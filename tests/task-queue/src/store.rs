//! The tasks of the emulator: those that wait, those that are being delivered, and the names that were used.

use std::{
    collections::{BTreeMap, HashSet},
    time::Duration,
};

use serde::Serialize;
use serde_json::Value;
use tokio::time::Instant;

use crate::fault::Faults;

/// A delivery that was made, for those who ask afterwards.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Delivery {
    /// The task's whole name.
    pub name: String,
    /// The answer's status; 0 when there was none.
    pub status: u16,
    /// The answer's body, as text.
    pub answer: String,
    /// Which try of this task it was, from 1.
    pub attempt: u32,
}

/// A task that the queue has.
#[derive(Clone, Debug)]
pub(crate) struct Task {
    /// As it was created, with what the service adds.
    pub(crate) json: Value,
    /// When it may be delivered.
    pub(crate) due: Instant,
    /// In the order in which tasks were created.
    pub(crate) number: u64,
    pub(crate) attempts: u32,
    pub(crate) responses: u32,
    pub(crate) is_running: bool,
    pub(crate) last_status: Option<u16>,
    pub(crate) doubled: bool,
}

#[derive(Default)]
pub(crate) struct Store {
    pub(crate) tasks: BTreeMap<String, Task>,
    /// Names that are taken, also of tasks that are gone.
    pub(crate) names: HashSet<String>,
    pub(crate) creates: u64,
    pub(crate) deliveries: Vec<Delivery>,
    pub(crate) faults: Faults,
    /// The number of the key that signs.
    pub(crate) key: usize,
    pub(crate) paused: bool,
}

impl Store {
    /// The task that is to be delivered next; or how long it is until one is due.
    pub(crate) fn next(&self, now: Instant) -> Result<String, Option<Duration>> {
        if self.paused {
            return Err(None);
        }
        let waiting = self.tasks.iter().filter(|(_, task)| !task.is_running);
        match waiting.min_by_key(|(_, task)| (task.due, task.number)) {
            Some((name, task)) if task.due <= now => Ok(name.clone()),
            Some((_, task)) => Err(Some(task.due - now)),
            None => Err(None),
        }
    }
}

//! What becomes of a job whose lease ran out, or will if it is not renewed.

use std::fmt;

use super::Surroundings;
use crate::{Job, Policy, Queue};

/// What becomes of a job whose lease ran out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextOwner {
    /// A lease watch takes it back, and a living worker goes on.
    Worker,
    /// A lease watch takes it back, and it waits: its queue is paused.
    PausedQueue(Queue),
    /// A lease watch takes it back, and it is parked until its user brings keys.
    User,
    /// A lease watch takes it back, and it is given up: that was one crash too many.
    DeadLetter,
    /// A lease watch takes it back, and no living worker is there to go on.
    NoWorker,
    /// No process is alive to take it back.
    NoProcess,
}

impl NextOwner {
    /// In the order in which they are met: the watch, the crashes, the keys, the queue, the slots.
    pub(super) fn of(job: &Job, around: &Surroundings, policy: &Policy) -> Self {
        if around.living == 0 {
            Self::NoProcess
        } else if job.crashes.saturating_add(1) >= policy.max_crashes {
            Self::DeadLetter
        } else if job.requires_keys {
            Self::User
        } else if around.paused.is_some() {
            Self::PausedQueue(job.queue)
        } else if around.slots == 0 {
            Self::NoWorker
        } else {
            Self::Worker
        }
    }
}

/// The second half of a sentence about a lease.
impl fmt::Display for NextOwner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::NoProcess {
            return f
                .write_str("no process is running that would take it back; start one with the role worker");
        }
        f.write_str("the lease watch of a living process takes it back within seconds")?;
        match self {
            Self::Worker => f.write_str(", and a living worker goes on with it"),
            Self::PausedQueue(queue) => write!(f, "; then it waits, because its queue, {queue}, is paused"),
            Self::User => f.write_str("; then it waits for its user's own keys"),
            Self::DeadLetter => f.write_str(", and after so many crashes it becomes a dead letter"),
            Self::NoWorker | Self::NoProcess => f.write_str(
                "; then it waits, because no worker is running: start a process with the role worker",
            ),
        }
    }
}

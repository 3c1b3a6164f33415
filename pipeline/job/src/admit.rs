//! How a job begins.

use crate::{Dispatch, Epoch, Generation, Job, JobId, Origin, State, Step, Timestamp};

/// What admission knows of a new job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admission {
    /// The derived id.
    pub id: JobId,
    /// Which route.
    pub origin: Origin,
    /// Whether discard detection is skipped.
    pub force_process: bool,
    /// Whether the user requires own keys, or the request brought some.
    pub requires_keys: bool,
}

impl Job {
    /// The job of a granted admission: `Queued` and enqueued once, or, when keys are required, `BlockedByok`.
    ///
    /// When the keys came with the request and a keyed slot is free, the caller follows with a
    /// `Claim { keys: true }` in the same transaction and stores the lease (epoch 1) at once.
    pub fn admit(admission: Admission, now: Timestamp) -> Step {
        let Admission { id, origin, force_process, requires_keys } = admission;
        let job = Self {
            id,
            origin,
            queue: origin.queue(),
            state: State::Queued { ready_at: now },
            epoch: Epoch(0),
            generation: Generation(1),
            dispatch: Dispatch(0),
            attempts: 0,
            crashes: 0,
            crashed_epoch: None,
            runs: 0,
            requires_keys,
            force_process,
            admitted_at: now,
            first_blocked_at: None,
            last_code: None,
            settled_at: None,
            next_check_at: None,
            hurried: false,
        };
        Step::from_job(&job).queue(now, now)
    }
}

//! The numbers of a round.

use std::{fmt::Debug, sync::Arc, time::Duration};

use futures::future::BoxFuture;
use job::{Generation, JobId};

/// The task queue, as far as the reconciler asks it.
pub trait TaskQueue: Debug + Send + Sync {
    /// Whether the task of a dispatch still waits there, or is being delivered; `None` when the queue does not say.
    fn holds<'a>(
        &'a self,
        job: &'a JobId,
        generation: Generation,
        dispatch: job::Dispatch,
    ) -> BoxFuture<'a, Option<bool>>;
}

/// What a process repairs, and how much of it at once (DECISIONS §4, "reconciler"; §7).
#[derive(Clone, Debug)]
pub struct Settings {
    /// Whether its rounds are recorded as the service's: the duties are done either way, but a process with the role
    /// `reconciler` may be missing. In the mode `inline` there is none, and every process with a worker makes whole rounds.
    pub records_rounds: bool,
    /// The age at which finished jobs, deliveries and operator actions are pruned: 30 days.
    pub retention: Duration,
    /// Rows a page: 100.
    pub page: i64,
    /// How long a pass, or one duty, may go on: 30 s. What is left is the next round's.
    pub budget: Duration,
    /// How long after each tick this process begins its round: none. Processes whose clocks tick together differ by it
    /// ([`apart`](crate::apart)), so that they do not all ask the database for the same rows in the same second.
    pub apart: Duration,
    /// How long the schedule leaves between two rounds at most: five minutes.
    pub every: Duration,
    /// Where finalizations are dispatched to, in the dispatch mode `cloud_tasks`.
    pub tasks: Option<Arc<dyn TaskQueue>>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            records_rounds: true,
            retention: Duration::from_secs(30 * 24 * 3_600),
            page: 100,
            budget: Duration::from_secs(30),
            apart: Duration::ZERO,
            every: Duration::from_secs(300),
            tasks: None,
        }
    }
}

//! The processes that live, and what they say of themselves.

use operations::{ProcessView, Workers};

/// Those that live and do not mean to stop.
pub(super) fn living(workers: &Workers) -> impl Iterator<Item = &ProcessView> {
    workers.processes.iter().filter(|view| view.alive && !view.process.stopping)
}

/// Whether one of them hands dispatches over to the task queue.
pub(super) fn hands_over(workers: &Workers) -> bool {
    living(workers).any(|view| view.process.dispatch_mode == "cloud_tasks")
}

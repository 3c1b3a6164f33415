//! Repair: make what is due claimable again. The reconciler does no work itself (DESIGN §1).
//!
//! The *lease watch* ([`watch_leases`]) reads expired leases every five seconds. The *round* ([`run`], at start and by the
//! clock) reconciles due jobs, asks for tasks that should have been delivered, and does what every mode needs done. Live
//! conversations whose socket is gone are ended ([`watch_live`]). Bulk replays that operators asked for are worked off
//! ([`work_off_replays`]).

mod watch;

mod duties;
mod repair;
mod replays;
mod round;

mod metrics;
mod plan;
mod settings;

pub use metrics::Metrics;
pub use plan::apart;
pub use replays::work_off_replays;
pub use round::{Reconciler, run};
pub use settings::{Settings, TaskQueue};
pub use watch::{LiveWatch, end_due, watch_leases, watch_live};

//! Repair: look at what is due, and ring again. The reconciler does no work itself (DESIGN §1).
//!
//! Two things go round in a process. The *lease watch* ([`watch_leases`]) looks every five seconds for
//! leases that ran out. The *round* ([`run`], at start and by the clock) does the duties that every mode
//! needs, and, where work is announced durably, makes a pass over everything that is due.

mod pass;
mod watch;

mod duties;
mod repair;
mod round;

mod metrics;
mod plan;
mod settings;

pub use metrics::{Counts, Metrics};
pub use round::{Reconciler, run};
pub use settings::Settings;
pub use watch::watch_leases;

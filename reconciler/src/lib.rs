//! Repair: look at what is due, and ring again. The reconciler does no work itself (DESIGN §1).
//!
//! Two things go round in a process. The *lease watch* ([`watch_leases`]) looks every five seconds for
//! leases that ran out. The *round* ([`run`], at start and by the clock) does the duties that every mode
//! needs, and, where work is announced durably, makes a pass over everything that is due. Besides, live conversations whose socket is
//! gone are ended ([`watch_live`]), and bulk replays that operators asked for are worked off ([`work_off_replays`]).

mod live;
mod pass;
mod watch;

mod duties;
mod repair;
mod replays;
mod round;

mod metrics;
mod plan;
mod settings;

pub use live::{end_due, watch_live};
pub use metrics::{Counts, Metrics};
pub use plan::apart;
pub use replays::work_off_replays;
pub use round::{Reconciler, run};
pub use settings::{Dispatch, Settings};
pub use watch::watch_leases;

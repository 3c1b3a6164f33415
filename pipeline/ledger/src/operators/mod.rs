//! What operators read and do beyond one job: the desk of the CLI and of the console.
//!
//! Every read costs the same on a long history: it is bounded by a page, by living processes, by the last hour, or
//! by totals that were counted with the edge.

mod audit;
mod bulk;
mod causes;
mod deliveries;
mod doctor;
mod erase;
mod list;
mod orders;
mod overview;
mod page;
mod pauses;
mod processes;
mod round;
mod servers;
mod try_now;
mod verify;
mod webhooks;

pub use audit::{ActionFilter, ActionView};
pub use bulk::{
    ReplayChange, ReplayItem, ReplayOrder, ReplayPreview, ReplayTurn, ReplayView, Started, Stepped,
};
pub use causes::{Cause, Causes};
pub use deliveries::{DeliveryFilter, DeliveryLine, Redelivered, delivery_subject};
pub(crate) use doctor::applied;
pub use doctor::{Examination, OldTransaction};
pub use erase::ErasureStep;
pub use list::{JobCursor, JobFilter, JobsPage};
pub use overview::{DeadLetters, MinuteView, Overview};
pub use page::JobPage;
pub use pauses::Pause;
pub(crate) use pauses::is_paused;
pub use processes::{HeldLease, Process, ProcessView, RUN_MILLIS, RunCounts, Workers};
pub use round::LastRound;
pub use servers::{ModelAnswer, ModelServer, ModelServers, ServerReport};
pub use try_now::TriedNow;
pub use verify::{CHECKS, Check, Finding};
pub use webhooks::{Enabled, EndpointView, GivenUp};

pub(crate) use audit::{Audited, write_action};

//! What may happen to a job: the pure machine (DESIGN §3). No async, no I/O, no clock, no randomness.

mod decide;

mod command;
mod effect;
mod refusal;
mod state;

mod admit;
mod applied;
mod cause;
mod checkpoint;
mod claim;
mod due;
mod operator;
mod repair;
mod run;
mod step;
mod user;
mod why;

mod code;
mod id;
mod policy;

pub use admit::Admission;
pub use cause::{Cause, ErrorClass};
pub use checkpoint::CheckpointKey;
pub use code::FailureCode;
pub use command::Command;
pub use decide::decide;
pub use effect::Effect;
pub use id::{JobId, shard_of_user};
pub use names::named;
pub use policy::Policy;
pub use refusal::Refusal;
pub use state::{Dispatch, Epoch, Generation, Job, Lease, Origin, Outcome, Queue, State, WorkerId};
pub use step::Step;
pub use why::{NextOwner, SILENT_AFTER, Surroundings, Why, why};

/// A moment, in UTC: always the database's (DESIGN §3), always an argument.
pub type Timestamp = chrono::DateTime<chrono::Utc>;

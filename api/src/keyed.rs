//! The port to runs with a user's own keys: declared here, because requests bring the keys; implemented where jobs
//! are run, which this crate cannot name; tied together by the binary.

use std::fmt::Debug;

use job::{JobId, WorkerId};
use ledger::Claimed;
use records::UserId;
use secrecy::SecretString;

/// The keyed runs of this process.
pub trait ByokRuns: Debug + Send + Sync {
    /// A place for one more job of `user`'s, kept until it is used or dropped; `None` when too many wait.
    fn permit(&self, user: &UserId) -> Option<Box<dyn ByokPermit>>;
}

/// A place among the keyed runs of this process.
pub trait ByokPermit: Send + Sync {
    /// Under which name the admission may take the lease at once; `None` while no slot is free.
    fn claimant(&self) -> Option<WorkerId>;

    /// Runs a job whose lease was taken under that name.
    fn run(self: Box<Self>, claimed: Claimed, key: SecretString);

    /// Claims and runs a parked job as soon as a slot is free.
    fn wait(self: Box<Self>, job: JobId, key: SecretString);
}

/// A process without keyed runs: there is never a place.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoByokRuns;

impl ByokRuns for NoByokRuns {
    fn permit(&self, _: &UserId) -> Option<Box<dyn ByokPermit>> {
        None
    }
}

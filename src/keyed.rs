//! Ties the keyed runs of `worker` to the port that `api` declares for them.

use std::fmt;

use job::{JobId, WorkerId};
use ledger::Claimed;
use secrecy::SecretString;

/// The keyed runs of this process, as its API reaches them.
pub(crate) struct Keyed(pub(crate) worker::KeyedRuns);

struct Place(worker::Place);

impl fmt::Debug for Keyed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Keyed")
    }
}

impl api::KeyedRuns for Keyed {
    fn permit(&self) -> Option<Box<dyn api::ByokPermit>> {
        Some(Box::new(Place(self.0.place()?)))
    }
}

impl api::ByokPermit for Place {
    fn claimant(&self) -> Option<WorkerId> {
        self.0.claimant().cloned()
    }

    fn run(self: Box<Self>, claimed: Claimed, key: SecretString) {
        self.0.run(claimed, key);
    }

    fn wait(self: Box<Self>, job: JobId, key: SecretString) {
        self.0.wait(job, key);
    }
}

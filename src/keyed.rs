//! Ties the keyed runs of `worker` to the port that `api` declares for them.

use job::{JobId, WorkerId, shard_of_user};
use ledger::StoredJob;
use records::UserId;
use secrecy::SecretString;

/// The keyed runs of this process, of each shard by its number, as its API reaches them.
pub(crate) struct Keyed(pub(crate) Vec<worker::ByokRuns>);

struct Permit(worker::Reservation);

impl api::ByokRuns for Keyed {
    fn permit(&self, user: &UserId) -> Option<Box<dyn api::ByokPermit>> {
        let shards = u16::try_from(self.0.len()).unwrap_or(u16::MAX);
        let runs = self.0.get(usize::from(shard_of_user(user.as_str(), shards)))?;
        Some(Box::new(Permit(runs.reserve()?)))
    }
}

impl api::ByokPermit for Permit {
    fn claimant(&self) -> Option<WorkerId> {
        self.0.claimant().cloned()
    }

    fn run(self: Box<Self>, claimed: StoredJob, key: SecretString) {
        self.0.run(claimed, key);
    }

    fn wait(self: Box<Self>, job: JobId, key: SecretString) {
        self.0.wait(job, key);
    }
}

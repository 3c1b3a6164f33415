//! All shards of an installation: a ledger for each, and who belongs where.

use std::sync::Arc;

use db::{Hosts, Shard};
use job::{JobId, shard_of_user};
use records::UserId;

use crate::{Ledger, Settings};

/// The ledgers of one process, one for each shard, in their order. A user's data is in one shard, with all of the user's jobs.
/// Cheap to clone.
#[derive(Clone)]
pub struct Shards(Arc<Vec<Ledger>>);

/// Where there are several, so many sessions of a shard serve everything but renewals.
const SESSIONS: u32 = 4;

impl Shards {
    /// Makes the ledgers without connecting yet, the shard of each number at its place of `addresses`, of which there is at
    /// least one.
    pub fn new(addresses: Vec<Hosts>, settings: &Settings) -> Self {
        let of = u16::try_from(addresses.len()).unwrap_or(u16::MAX);
        let ledgers = (0..).zip(addresses).map(|(number, hosts)| {
            let connections = if of == 1 { settings.connections } else { settings.connections.min(SESSIONS) };
            Ledger::new(hosts, Settings { connections, shard: Shard { number, of }, ..settings.clone() })
        });
        Self(Arc::new(ledgers.collect()))
    }

    pub fn count(&self) -> u16 {
        u16::try_from(self.0.len()).unwrap_or(u16::MAX)
    }

    pub fn of_user(&self, user: &UserId) -> &Ledger {
        match self.count() {
            1 => self.first(),
            count => self.at(shard_of_user(user.as_str(), count)),
        }
    }

    pub fn of_job(&self, job: &JobId) -> &Ledger {
        self.at(job.shard(self.count()))
    }

    pub fn numbered(&self, number: u16) -> Option<&Ledger> {
        self.0.get(usize::from(number))
    }

    /// All of them, by their numbers.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Ledger> {
        self.0.iter()
    }

    /// The first: what belongs to no user is asked for there.
    pub fn first(&self) -> &Ledger {
        self.at(0)
    }

    #[allow(clippy::indexing_slicing, reason = "a share is below the count")]
    fn at(&self, number: u16) -> &Ledger {
        &self.0[usize::from(number)]
    }
}

/// An installation of one shard.
impl From<Ledger> for Shards {
    fn from(ledger: Ledger) -> Self {
        Self(Arc::new(vec![ledger]))
    }
}

//! How many connections a listener keeps, and which one is closed where there is no room for another.

use std::{
    collections::{BTreeMap, HashMap},
    net::{IpAddr, Ipv6Addr},
    sync::Arc,
};

use parking_lot::Mutex;
use prometheus::{IntCounterVec, Opts, Registry};
use rustix::process::{Resource, getrlimit, setrlimit};
use tokio_util::sync::CancellationToken;

/// Files that are left for everything but the public address and the database: the admin address, calls to model servers
/// and webhooks, the program's own.
const OTHER_FILES: u64 = 256;
/// The public address keeps so many connections, however few files there are.
const FEWEST: usize = 16;
/// How many connections the admin address keeps.
const OF_ADMIN: usize = 128;

/// How many connections a listener keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// In all.
    pub(crate) all: usize,
    /// From one address; of IPv6 from one /64, which is what one customer gets.
    pub(crate) per_address: usize,
}

impl Limits {
    /// The public address's: what was asked for, as far as there are open files for it (`files`, of which `database` are
    /// needed elsewhere).
    pub(crate) fn public(request: Self, files: u64, database: u32) -> Self {
        let left = files.saturating_sub(OTHER_FILES + u64::from(database));
        let all = usize::try_from(left).unwrap_or(usize::MAX).max(FEWEST).min(request.all);
        Self { all, ..request }
    }

    /// The admin address's, for which files are kept free.
    pub(crate) const fn admin() -> Self {
        Self { all: OF_ADMIN, per_address: OF_ADMIN }
    }
}

/// Raises the limit of open files as far as this process may, and returns what it is then.
pub(crate) fn raise_open_files() -> u64 {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // Some systems (macOS) refuse what they call the maximum. What was set stands then.
    let _ = setrlimit(Resource::Nofile, limit);
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// As many files as a process that is started like this one may open at most.
pub(crate) fn most_open_files() -> u64 {
    getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX)
}

/// Counts the connections for which there was no room.
pub(crate) fn refusals(registry: &Registry) -> Result<IntCounterVec, prometheus::Error> {
    let refused = IntCounterVec::new(
        Opts::new(
            "listen_http_connections_refused_total",
            "Connections refused because their address (address) or the process (all) had too many that were busy, and idle \
             ones closed to make room (displaced).",
        ),
        &["reason"],
    )?;
    for reason in ["address", "all", "displaced"] {
        refused.with_label_values(&[reason]).inc_by(0);
    }
    registry.register(Box::new(refused.clone()))?;
    Ok(refused)
}

/// The connections of a listener; cheap to clone.
#[derive(Clone)]
pub(crate) struct Connections {
    limits: Limits,
    refused: IntCounterVec,
    open: Arc<Mutex<Open>>,
}

#[derive(Default)]
struct Open {
    /// The number of the next event: a connection is older than another one if its number is smaller.
    next: u64,
    slots: BTreeMap<u64, Slot>,
    by_network: HashMap<IpAddr, usize>,
}

struct Slot {
    network: IpAddr,
    /// Requests whose answers are not yet handed over: one at most, but for a moment between two.
    busy: u32,
    /// When the last request was done, if there was any. Those that never asked come first.
    last: Option<u64>,
    closing: CancellationToken,
}

impl Connections {
    pub(crate) fn new(limits: Limits, refused: IntCounterVec) -> Self {
        Self { limits, refused, open: Arc::default() }
    }

    /// Takes a connection in; where there are too many, in the place of the one that has been idle for longest. `None`: all
    /// are busy.
    pub(crate) fn admit(&self, address: IpAddr) -> Option<Connection> {
        let network = network(address);
        let mut open = self.open.lock();
        let of_network = open.by_network.get(&network).copied().unwrap_or_default();
        if of_network >= self.limits.per_address {
            self.make_room(&mut open, "address", |slot| slot.network == network)?;
        } else if open.slots.len() >= self.limits.all {
            self.make_room(&mut open, "all", |_| true)?;
        }
        let (number, closing) = (open.next(), CancellationToken::new());
        *open.by_network.entry(network).or_default() += 1;
        open.slots.insert(number, Slot { network, busy: 0, last: None, closing: closing.clone() });
        Some(Connection(Arc::new(Place { number, closing, connections: self.clone() })))
    }

    /// Closes the connection that has been idle for longest.
    fn make_room(&self, open: &mut Open, reason: &str, among: impl Fn(&Slot) -> bool) -> Option<()> {
        let idle = open.slots.iter().filter(|(_, slot)| slot.busy == 0 && among(slot));
        let oldest = idle.min_by_key(|(number, slot)| (slot.last, **number)).map(|(number, _)| *number);
        let outcome = if oldest.is_some() { "displaced" } else { reason };
        self.refused.with_label_values(&[outcome]).inc();
        open.remove(oldest?).map(|slot| slot.closing.cancel())
    }
}

impl Open {
    fn next(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn remove(&mut self, number: u64) -> Option<Slot> {
        let slot = self.slots.remove(&number)?;
        if let Some(of_network) = self.by_network.get_mut(&slot.network) {
            *of_network -= 1;
            if *of_network == 0 {
                self.by_network.remove(&slot.network);
            }
        }
        Some(slot)
    }
}

/// What counts as one address.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => address.into(),
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << 64)).into(),
    }
}

/// A connection's place among the others, until the last clone is dropped.
#[derive(Clone)]
pub(crate) struct Connection(Arc<Place>);

struct Place {
    number: u64,
    closing: CancellationToken,
    connections: Connections,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.connections.open.lock().remove(self.number);
    }
}

impl Connection {
    /// A request has come: until the guard is dropped, this connection is not closed for another one. `None`: it was closed
    /// already.
    pub(crate) fn begin_request(&self) -> Option<Busy> {
        let mut open = self.0.connections.open.lock();
        open.slots.get_mut(&self.0.number)?.busy += 1;
        Some(Busy(self.clone()))
    }

    /// Whether a request has ever come.
    pub(crate) fn has_asked(&self) -> bool {
        let open = self.0.connections.open.lock();
        open.slots.get(&self.0.number).is_some_and(|slot| slot.busy > 0 || slot.last.is_some())
    }

    /// Those among which it has its place.
    pub(crate) fn others(&self) -> Connections {
        self.0.connections.clone()
    }

    /// Until another connection has taken the place of this one.
    pub(crate) async fn displaced(&self) {
        self.0.closing.cancelled().await;
    }
}

/// A request that is being answered.
pub(crate) struct Busy(Connection);

impl Drop for Busy {
    fn drop(&mut self) {
        let mut open = self.0.0.connections.open.lock();
        let now = open.next();
        if let Some(slot) = open.slots.get_mut(&self.0.0.number) {
            slot.busy -= 1;
            slot.last = Some(now);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

    use super::*;

    fn connections(all: usize, per_address: usize) -> Connections {
        Connections::new(Limits { all, per_address }, refusals(&Registry::new()).unwrap())
    }

    fn counted(connections: &Connections) -> [u64; 3] {
        ["address", "all", "displaced"].map(|reason| connections.refused.with_label_values(&[reason]).get())
    }

    fn from(last: u8) -> IpAddr {
        [10, 0, 0, last].into()
    }

    #[test]
    fn connection_limit_evicts_silent_then_idle_and_never_busy_ones() {
        let connections = connections(3, 3);
        let one = connections.admit(from(1)).unwrap();
        let two = connections.admit(from(2)).unwrap();
        let silent = connections.admit(from(3)).unwrap();
        drop(two.begin_request().unwrap());
        let asking = one.begin_request().unwrap();
        let four = connections.admit(from(4)).unwrap();
        assert!(silent.0.closing.is_cancelled() && silent.begin_request().is_none());
        let asking_too = four.begin_request().unwrap();
        let five = connections.admit(from(5)).unwrap();
        assert!(two.0.closing.is_cancelled());
        let _asking_as_well = five.begin_request().unwrap();
        assert!(connections.admit(from(6)).is_none());
        assert_eq!(counted(&connections), [0, 1, 2]);
        drop((asking, asking_too));
        assert!(connections.admit(from(6)).is_some());
        assert!(one.0.closing.is_cancelled(), "its request was done before the other one's");
        assert!(!four.0.closing.is_cancelled());
    }

    #[test]
    fn connection_limit_per_address_evicts_its_own_connections() {
        let connections = connections(10, 2);
        let other = connections.admit(from(1)).unwrap();
        let mine: Vec<Connection> = (0..3).map(|_| connections.admit(from(2)).unwrap()).collect();
        assert!(mine[0].0.closing.is_cancelled());
        let _busy = [mine[1].begin_request().unwrap(), mine[2].begin_request().unwrap()];
        assert!(connections.admit(from(2)).is_none());
        assert!(!other.0.closing.is_cancelled());
        assert_eq!(counted(&connections), [1, 0, 1]);
        drop(mine);
        drop(_busy);
        assert_eq!(connections.open.lock().by_network.len(), 1);
        drop(other);
        assert!(connections.open.lock().slots.is_empty() && connections.open.lock().by_network.is_empty());
    }

    #[test]
    fn connection_limit_counts_an_ipv6_network_as_one_address() {
        let of = |text: &str| network(text.parse().unwrap());
        assert_eq!(of("2001:db8:0:1::1"), of("2001:db8:0:1:ffff::2"));
        assert_ne!(of("2001:db8:0:1::1"), of("2001:db8:0:2::1"));
        assert_eq!(of("::ffff:10.0.0.1"), of("10.0.0.1"));
        assert_ne!(of("10.0.0.1"), of("10.0.0.2"));
    }

    #[test]
    fn connection_limit_reserves_files_for_admin_and_database() {
        let asked = Limits { all: 1_024, per_address: 256 };
        let of = |files| Limits::public(asked, files, 31).all;
        assert_eq!([of(u64::MAX), of(4_096), of(1_024), of(100)], [1_024, 1_024, 737, FEWEST]);
        assert!(OTHER_FILES > OF_ADMIN as u64);
    }
}

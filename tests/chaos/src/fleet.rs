//! The processes of the service: started, hit by faults, and replaced.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::RwLock;
use rustix::process::Signal;
use tokio::sync::Mutex;

use crate::journal::{Journal, Ran};
use crate::plan::{Dispatch, Plan};
use crate::postgres::Postgres;
use crate::program::Process;

/// Seconds by which the clocks of the processes are apart. A task queue's tokens are read by these clocks: those of a process
/// that is minutes slow would all be of the future.
const SKEWS: [i64; 3] = [0, 7 * 60, -7 * 60];
const SKEWS_WITH_TOKENS: [i64; 3] = [0, 7 * 60, -40];

/// All processes of a run.
#[derive(Debug)]
pub(crate) struct Fleet {
    slots: Vec<Mutex<Slot>>,
    /// The addresses of the processes that serve, by slot.
    addresses: RwLock<Vec<Option<ProcessAddress>>>,
    skews: [i64; 3],
    settings: Vec<(String, String)>,
    postgres: Arc<Postgres>,
    journal: Arc<Journal>,
    logs: PathBuf,
}

#[derive(Debug, Default)]
struct Slot {
    process: Option<Process>,
    lives: u32,
}

/// The addresses of a process.
#[derive(Clone, Debug)]
pub(crate) struct ProcessAddress {
    pub(crate) name: String,
    pub(crate) api: String,
    pub(crate) admin: String,
}

impl Fleet {
    pub(crate) async fn start(
        plan: &Plan,
        settings: Vec<(String, String)>,
        postgres: Arc<Postgres>,
        journal: Arc<Journal>,
    ) -> Self {
        let logs = postgres.home().join("logs");
        let number = plan.processes;
        std::fs::create_dir_all(&logs).expect("a directory for logs can be made");
        let fleet = Self {
            slots: (0..number).map(|_| Mutex::default()).collect(),
            addresses: RwLock::new(vec![None; number]),
            skews: match plan.dispatch {
                Dispatch::Postgres => SKEWS,
                Dispatch::CloudTasks => SKEWS_WITH_TOKENS,
            },
            settings,
            postgres,
            journal,
            logs,
        };
        for slot in 0..number {
            fleet.revive(slot).await;
        }
        fleet
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    /// Where the logs of all lives are.
    pub(crate) fn logs(&self) -> &PathBuf {
        &self.logs
    }

    /// The processes that serve.
    pub(crate) fn addresses(&self) -> Vec<ProcessAddress> {
        self.addresses.read().iter().flatten().cloned().collect()
    }

    /// Starts a process in an empty slot.
    pub(crate) async fn revive(&self, slot: usize) {
        let mut held = self.slots[slot].lock().await;
        if held.process.is_some() {
            return;
        }
        held.lives += 1;
        let name = format!("p{slot}.{}", held.lives);
        let log = self.logs.join(format!("{name}.jsonl"));
        let skew = self.skews[slot % self.skews.len()];
        let process =
            Process::serve(&name, &self.postgres.url(&name), &self.settings, skew, None, &log).await;
        self.journal.ran.note(Ran { name: name.clone(), pid: process.pid });
        let address = ProcessAddress { name, api: process.api.clone(), admin: process.admin.clone() };
        self.open(slot, Some(address));
        held.process = Some(process);
    }

    /// Kills the process of a slot as a lost machine would; answers its number.
    pub(crate) async fn kill(&self, slot: usize) -> Option<u32> {
        let mut process = self.take(slot).await?;
        process.signal(Signal::KILL);
        process.ended(Duration::from_secs(10)).await;
        Some(process.pid)
    }

    /// Sends SIGTERM, and again after `patience`. A process that survives the second signal is a breach.
    pub(crate) async fn stop(&self, slot: usize, patience: Duration) -> Option<u32> {
        let mut process = self.take(slot).await?;
        process.signal(Signal::TERM);
        if !process.ended(patience).await {
            process.signal(Signal::TERM);
            if !process.ended(Duration::from_secs(8)).await {
                self.journal.breaches.note(format!("{} did not stop at the second SIGTERM", process.name));
                process.signal(Signal::KILL);
            }
        }
        Some(process.pid)
    }

    /// Freezes a process or lets it go on; answers its number.
    pub(crate) async fn signal(&self, slot: usize, signal: Signal) -> Option<u32> {
        let held = self.slots[slot].lock().await;
        held.process.as_ref().filter(|process| process.signal(signal)).map(|process| process.pid)
    }

    /// Notes processes that ended by themselves, and replaces them.
    pub(crate) async fn look(&self) {
        for slot in 0..self.slots.len() {
            let mut held = self.slots[slot].lock().await;
            if held.process.as_mut().is_some_and(Process::has_ended) {
                if let Some(process) = held.process.take() {
                    self.journal.breaches.note(format!("{} ended by itself", process.name));
                }
                self.open(slot, None);
                drop(held);
                self.revive(slot).await;
            }
        }
    }

    async fn take(&self, slot: usize) -> Option<Process> {
        let mut held = self.slots[slot].lock().await;
        self.open(slot, None);
        held.process.take()
    }

    fn open(&self, slot: usize, address: Option<ProcessAddress>) {
        self.addresses.write()[slot] = address;
    }
}

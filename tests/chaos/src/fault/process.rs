//! Faults of a process.

use std::time::Duration;

use rustix::process::Signal;

use crate::world::World;

/// Starts a new process in place of one that ended.
pub(super) async fn come_back(world: &World, slot: usize, after: Duration) {
    tokio::time::sleep(after).await;
    world.fleet.revive(slot).await;
}

/// Freezes a process for longer than its leases last, and resumes it.
pub(super) async fn freeze(world: &World, slot: usize, hold: Duration) -> Option<u32> {
    let pid = world.fleet.signal(slot, Signal::STOP).await;
    tokio::time::sleep(hold).await;
    world.fleet.signal(slot, Signal::CONT).await;
    pid
}

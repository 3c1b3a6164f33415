//! Faults of the task queue.

use std::time::Duration;

use rand::{RngExt, rngs::StdRng};
use task_queue::{Fault, Kind};

use crate::world::World;

/// Every task has this fault for a while. An unanswered create stays unanswered: the service times out.
pub(super) async fn go_wrong(world: &World, kinds: &[Kind], hold: Duration) -> Option<u32> {
    let queue = world.queue.as_ref()?;
    kinds.iter().cloned().for_each(|kind| queue.emulator.fault(Fault::always(kind)));
    tokio::time::sleep(hold).await;
    queue.emulator.mend();
    None
}

/// The queue refuses to create tasks, with one of its errors.
pub(super) async fn refuse(world: &World, chance: &mut StdRng, hold: Duration) -> Option<u32> {
    let status = [429, 500, 503][chance.random_range(0..3)];
    let retry_after = chance.random_bool(0.5).then_some(1);
    go_wrong(world, &[Kind::CreateStatus { status, retry_after }], hold).await
}

/// Tokens are signed with another key without notice, and the keys cannot be read at first.
pub(super) async fn rotate(world: &World, hold: Duration) -> Option<u32> {
    world.queue.as_ref()?.emulator.rotate();
    go_wrong(world, &[Kind::KeysDown], hold / 4).await
}

//! An emulator of Google Cloud Tasks, as much of it as `listen` uses: creating a named task (names are remembered, a second one of the
//! same name is refused), looking at it, and delivering it with an identity token: as many at once as the queue allows, again after
//! a failure, and not for ever. It also publishes the keys that verify its tokens, and misbehaves on command.
//!
//! A test starts an [`Emulator`] of its own; from a shell, `cargo run -p task-queue` starts one that is controlled over
//! HTTP under `/emulator`.

mod api;
mod deliver;
mod fault;
mod server;
mod shared;
mod store;
mod token;

pub use fault::{Fault, Kind};
pub use server::Emulator;
pub use shared::Options;
pub use store::Delivery;
pub use token::{Claims, Signer};

/// The queue that every emulator has; others spring up when a task is created in them.
pub const QUEUE: &str = "projects/local/locations/here/queues/finalization";
/// The service account of tasks that name none.
pub const INVOKER: &str = "invoker@local.iam.gserviceaccount.com";

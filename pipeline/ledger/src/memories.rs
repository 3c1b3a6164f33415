//! A user's own changes of memories: the memory and its events in one transaction.

mod change;
mod create;

pub use change::MemoryChange;
pub use create::NewPersonMemory;

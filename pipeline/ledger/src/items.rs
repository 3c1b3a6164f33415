//! A user's own changes of action items: the item, its reminder and its events in one transaction.

mod change;
mod create;
mod dates;

pub use change::ItemChange;
pub use create::NewActionItem;

//! What goes out: field lists as in the spec and DECISIONS §1; absent optional fields are left out, as the spec
//! has it, except where it lists null as a value.

mod conversation;
mod key;
mod listed;
mod poll;
mod profile;
mod push_body;
mod time;
mod webhook;
mod webhook_body;

pub use conversation::conversation;
pub use key::key;
pub use listed::{action_item, folder, memory};
pub use poll::poll;
pub use profile::{person, subscription, user};
pub use push_body::push_body;
pub use time::moment;
pub use webhook::{delivery, endpoint};
pub use webhook_body::WebhookBodies;

#[cfg(test)]
mod tests;

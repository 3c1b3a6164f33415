//! What goes out: field lists as in the spec and DECISIONS §1; absent optional fields are left out, as the spec
//! has it, except where it lists null as a value.

use serde_json::Value;

mod action_item;
mod app;
mod audio_webhook;
mod conversation;
mod folder;
mod goal;
mod key;
mod memory;
mod poll;
mod profile;
mod push_body;
mod time;
mod webhook;
mod webhook_body;

pub use action_item::action_item;
pub use app::{app, app_key};
pub use audio_webhook::audio_webhook;
pub use conversation::conversation;
pub(crate) use conversation::{conversation_with_photos, said};
pub use folder::folder;
pub use goal::{goal, goal_point};
pub use key::key;
pub use memory::memory;
pub use poll::poll;
pub use profile::{person, subscription, user};
pub use push_body::{chat_push_body, push_body};
pub use time::moment;
pub use webhook::{delivery, endpoint};
pub use webhook_body::WebhookBodies;

/// The same object with one field more; used for what is shown once.
pub(crate) fn with(mut shape: Value, name: &str, value: &str) -> Value {
    if let Some(fields) = shape.as_object_mut() {
        fields.insert(name.to_owned(), value.into());
    }
    shape
}

#[cfg(test)]
mod tests;

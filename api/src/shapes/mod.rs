//! What goes out: field lists as in the spec and DECISIONS §1; absent optional fields are left out, as the spec
//! has it, except where it lists null as a value. The document's schemas are derived from these types.

use schemars::JsonSchema;
use serde_json::Value;

/// A record as it is answered, or a part of one, of which each field is said once: what it means, how it is made of the record,
/// and, where it is answered by itself, how it looks in the example.
macro_rules! shape {
    (
        $(#[$about:meta])*
        $vis:vis $function:ident($($record:ident: $of:ty),+) -> $shape:ident {
            $($(#[$meaning:meta])* $field:ident: $kind:ty = $made:expr, $example:tt;)+
        }
    ) => {
        shape! {
            $(#[$about])*
            $vis $function($($record: $of),+) -> $shape { $($(#[$meaning])* $field: $kind = $made;)+ }
        }

        impl crate::shapes::Shape for $shape {
            fn example() -> serde_json::Value {
                serde_json::json!({ $(stringify!($field): $example),+ })
            }
        }
    };
    (
        $(#[$about:meta])*
        $vis:vis $function:ident$(<$life:lifetime>)?($($record:ident: $of:ty),+) -> $shape:ident {
            $($(#[$meaning:meta])* $field:ident: $kind:ty = $made:expr;)+
        }
    ) => {
        $(#[$about])*
        #[derive(Debug, serde::Serialize, schemars::JsonSchema)]
        $vis struct $shape$(<$life>)? { $($(#[$meaning])* $field: $kind),+ }

        #[allow(unreachable_pub, reason = "some are answered by this crate alone")]
        $vis fn $function$(<$life>)?($($record: $of),+) -> $shape$(<$life>)? {
            $shape { $($field: $made),+ }
        }
    };
}

/// The same with a text that is shown this once: a repeat is answered without it.
macro_rules! shown_once {
    (
        $(#[$about:meta])*
        $function:ident($whole:ident) -> $shape:ident { $(#[$meaning:meta])* $text:ident = $example:literal }
    ) => {
        $(#[$about])*
        #[derive(Debug, serde::Serialize, schemars::JsonSchema)]
        pub struct $shape {
            #[serde(flatten)]
            whole: $whole,
            $(#[$meaning])*
            #[serde(skip_serializing_if = "Option::is_none")]
            $text: Option<String>,
        }

        pub(crate) fn $function(whole: $whole, text: &str) -> $shape {
            $shape { whole, $text: Some(text.to_owned()) }
        }

        impl crate::shapes::Shape for $shape {
            fn example() -> serde_json::Value {
                crate::shapes::with(<$whole as crate::shapes::Shape>::example(), stringify!($text), $example)
            }
        }
    };
}

mod action_item;
mod app;
mod audio_webhook;
mod conversation;
mod created;
mod folder;
mod goal;
mod key;
mod memory;
mod message;
mod poll;
mod problem;
mod profile;
mod push_body;
mod status;
mod time;
mod webhook;
mod webhook_body;
pub(crate) mod words;

pub use action_item::{ActionItem, CreatedActionItems, action_item, created_action_items};
pub use app::{App, AppIds, AppKey, AppStatus, CreatedApp, CreatedAppKey, NotificationStatus, app, app_key};
pub(crate) use app::{DONE, SENT, created_app, created_app_key};
pub(crate) use audio_webhook::changed_audio_webhook;
pub use audio_webhook::{AudioWebhook, ChangedAudioWebhook, audio_webhook};
pub(crate) use conversation::{Conversation, conversation, conversation_with_photos, said};
pub use created::{AppendedSegments, CreatedConversation};
pub(crate) use created::{FinalizingConversation, appended, created, deleted};
pub use folder::{Folder, folder};
pub use goal::{Goal, GoalPoint, goal, goal_point};
pub(crate) use key::created_key;
pub use key::{CreatedKey, Key, key};
pub use memory::{CreatedMemories, Memory, created_memories, memory};
pub use message::{Message, MessageError, MessageSource, MessageTool, SearchResult};
pub(crate) use message::{
    ended, kind_of, message, message_error, message_source, message_tool, search_result,
};
pub use poll::{FailureCause, FinalizationJob, poll};
pub(crate) use problem::SUCCESS;
pub use problem::{HTTPValidationError, Problem, Success, ValidationError};
pub use profile::{Person, Profile, PushKey, PushSubscription, person, push_key, subscription, user};
pub use push_body::push_body;
pub use status::{Status, status};
pub use time::{Time, moment};
pub(crate) use webhook::created_endpoint;
pub use webhook::{CreatedWebhook, Delivery, DeliveryTry, Recovered, Webhook, delivery, endpoint, recovered};
pub use webhook_body::WebhookBodies;
pub(crate) use webhook_body::{TestEventData, ThinCreatedData, ThinEventData};
pub(crate) use words::Words;

/// An object that is answered: its schema is derived, and this is how one looks.
pub(crate) trait Shape: JsonSchema {
    /// One, for readers of the document.
    fn example() -> Value;
}

/// The same object with one field more.
pub(crate) fn with(mut shape: Value, name: &str, value: &str) -> Value {
    if let Some(fields) = shape.as_object_mut() {
        fields.insert(name.to_owned(), value.into());
    }
    shape
}

#[cfg(test)]
mod tests;

//! What receivers of webhooks read: `{type, timestamp, data}` (DECISIONS §6); an installed app reads the data alone.

use outbox::ClaimedDelivery;
use records::{ActionItem, Conversation, EventKind, Memory, WebhookFormat};
use serde_json::{Value, json};
use store::ConversationView;

use super::{action_item, conversation, memory, moment, words::ConversationStatus};

/// The id of the action item or the memory that an event is about.
type Subject = (Option<String>, Option<String>);

shape! {
    /// Ids and status, without a word that was said.
    pub(crate) thin_event(subject: Subject, conversation: &Conversation) -> ThinEventData {
        /// The item, of `action_item.created`.
        #[serde(skip_serializing_if = "Option::is_none")]
        action_item_id: Option<String> = subject.0;
        /// The memory, of `memory.created`.
        #[serde(skip_serializing_if = "Option::is_none")]
        memory_id: Option<String> = subject.1;
        /// The conversation.
        conversation_id: String = conversation.id.as_str().to_owned();
        /// Its status.
        #[schemars(with = "ConversationStatus")]
        status: &'static str = conversation.status.as_str();
        /// Whether it is hidden.
        discarded: bool = conversation.discarded;
    }
}

shape! {
    /// The id of what a user created, without its text.
    pub(crate) thin_created(subject: Subject) -> ThinCreatedData {
        /// The item, of `action_item.created`.
        #[serde(skip_serializing_if = "Option::is_none")]
        action_item_id: Option<String> = subject.0;
        /// The memory, of `memory.created`.
        #[serde(skip_serializing_if = "Option::is_none")]
        memory_id: Option<String> = subject.1;
        /// It belongs to no conversation.
        conversation_id: () = ();
    }
}

shape! {
    /// A test.
    pub(crate) test_event(endpoint: &str) -> TestEventData {
        /// The endpoint.
        endpoint_id: String = endpoint.to_owned();
    }
}

/// Renders deliveries. Pure: the same delivery and conversation always give the same bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct WebhookBodies;

impl WebhookBodies {
    /// The body of `delivery`. `conversation` is what it is about, read with its transcript; `None` when it no longer
    /// exists, and then there is nothing to send any more (a test event apart, which is about nothing). `new_memory` is the
    /// memory that the event is about, if it is about one that still exists; `new_item` the action item of no conversation.
    pub fn body(
        &self,
        delivery: &ClaimedDelivery,
        conversation: Option<&ConversationView>,
        new_memory: Option<&Memory>,
        new_item: Option<&ActionItem>,
    ) -> Option<Vec<u8>> {
        let (name, data) = match (delivery.event, conversation) {
            (None, _) => ("webhook.test", json!(test_event(&delivery.endpoint_id))),
            (Some(event), Some(view)) => (event.as_str(), data(delivery, event, view, new_memory)),
            (Some(event), None) if delivery.conversation_id.is_none() => {
                (event.as_str(), of_no_conversation(delivery, event, new_memory, new_item))
            }
            (Some(_), None) => return None,
        };
        if delivery.format == WebhookFormat::Bare && delivery.event.is_some() {
            return Some(data.to_string().into_bytes());
        }
        let body = json!({ "type": name, "timestamp": moment(delivery.occurred_at), "data": data });
        Some(body.to_string().into_bytes())
    }
}

/// An object that was deleted meanwhile is sent by its ids: that it was created.
fn data(
    delivery: &ClaimedDelivery,
    event: EventKind,
    view: &ConversationView,
    new_memory: Option<&Memory>,
) -> Value {
    match (delivery.format, event) {
        (WebhookFormat::Thin, _) => ids_and_status(delivery, event, view),
        (WebhookFormat::Full | WebhookFormat::Bare, EventKind::MemoryCreated) => new_memory
            .map_or_else(|| ids_and_status(delivery, event, view), |new_memory| json!(memory(new_memory))),
        (WebhookFormat::Full | WebhookFormat::Bare, EventKind::ActionItemCreated) => {
            let subject = delivery.subject_id.as_deref();
            let item = view.action_items.iter().find(|item| Some(item.id.as_str()) == subject);
            item.map_or_else(|| ids_and_status(delivery, event, view), |item| json!(action_item(item)))
        }
        (WebhookFormat::Full | WebhookFormat::Bare, _) => json!(conversation(view, true)),
    }
}

/// What a user created belongs to no conversation; it, too, is sent by its id when it was deleted meanwhile.
fn of_no_conversation(
    delivery: &ClaimedDelivery,
    event: EventKind,
    new_memory: Option<&Memory>,
    new_item: Option<&ActionItem>,
) -> Value {
    let shown = match delivery.format {
        WebhookFormat::Thin => None,
        WebhookFormat::Full | WebhookFormat::Bare => new_memory
            .map(|new_memory| json!(memory(new_memory)))
            .or_else(|| new_item.map(|new_item| json!(action_item(new_item)))),
    };
    shown.unwrap_or_else(|| json!(thin_created(subject(delivery, event))))
}

fn ids_and_status(delivery: &ClaimedDelivery, event: EventKind, view: &ConversationView) -> Value {
    json!(thin_event(subject(delivery, event), &view.conversation))
}

fn subject(delivery: &ClaimedDelivery, event: EventKind) -> Subject {
    let id = delivery.subject_id.clone();
    match event {
        EventKind::ActionItemCreated => (id, None),
        EventKind::MemoryCreated => (None, id),
        _ => (None, None),
    }
}

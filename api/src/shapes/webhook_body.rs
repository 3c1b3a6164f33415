//! What receivers of webhooks read: `{type, timestamp, data}` (DECISIONS §6).

use ledger::{ClaimedDelivery, ConversationView, EventKind, WebhookFormat};
use serde_json::{Map, Value, json};

use records::Memory;

use super::{action_item, conversation, memory, moment};

/// Renders deliveries. Pure: the same delivery and conversation always give the same bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct WebhookBodies;

impl WebhookBodies {
    /// The body of `delivery`. `conversation` is what it is about, read with its transcript; `None` when it no longer
    /// exists, and then there is nothing to tell any more (a test event apart, which is about nothing). `told` is the
    /// memory that the event is about, if it is about one that still exists.
    pub fn body(
        &self,
        delivery: &ClaimedDelivery,
        conversation: Option<&ConversationView>,
        told: Option<&Memory>,
    ) -> Option<Vec<u8>> {
        let (name, data) = match (delivery.event, conversation) {
            (None, _) => ("webhook.test", json!({ "endpoint_id": delivery.endpoint_id })),
            (Some(event), Some(view)) => (event.as_str(), data(delivery, event, view, told)),
            (Some(_), None) => return None,
        };
        let body = json!({ "type": name, "timestamp": moment(delivery.occurred_at), "data": data });
        Some(body.to_string().into_bytes())
    }
}

/// A thing that was deleted meanwhile is told by its ids: what remains to be told is that it was made.
fn data(
    delivery: &ClaimedDelivery,
    event: EventKind,
    view: &ConversationView,
    told: Option<&Memory>,
) -> Value {
    match (delivery.format, event) {
        (WebhookFormat::Thin, _) => ids_and_status(delivery, event, view),
        (WebhookFormat::Full, EventKind::MemoryCreated) => {
            told.map_or_else(|| ids_and_status(delivery, event, view), memory)
        }
        (WebhookFormat::Full, EventKind::ActionItemCreated) => {
            let subject = delivery.subject_id.as_deref();
            let item = view.action_items.iter().find(|item| Some(item.id.as_str()) == subject);
            item.map_or_else(|| ids_and_status(delivery, event, view), action_item)
        }
        (WebhookFormat::Full, _) => conversation(view, true),
    }
}

fn ids_and_status(delivery: &ClaimedDelivery, event: EventKind, view: &ConversationView) -> Value {
    let mut data = Map::new();
    let subject = match event {
        EventKind::ActionItemCreated => Some("action_item_id"),
        EventKind::MemoryCreated => Some("memory_id"),
        _ => None,
    };
    if let (Some(name), Some(id)) = (subject, &delivery.subject_id) {
        data.insert(name.to_owned(), id.as_str().into());
    }
    data.insert("conversation_id".to_owned(), view.conversation.id.as_str().into());
    data.insert("status".to_owned(), view.conversation.status.as_str().into());
    data.insert("discarded".to_owned(), view.conversation.discarded.into());
    Value::Object(data)
}

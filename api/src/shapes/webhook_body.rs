//! What receivers of webhooks read: `{type, timestamp, data}` (DECISIONS §6); an installed app reads the data alone.

use outbox::ClaimedDelivery;
use records::{ActionItem, EventKind, Memory, WebhookFormat};
use serde_json::{Map, Value, json};
use store::ConversationView;

use super::{action_item, conversation, memory, moment};

/// Renders deliveries. Pure: the same delivery and conversation always give the same bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct WebhookBodies;

impl WebhookBodies {
    /// The body of `delivery`. `conversation` is what it is about, read with its transcript; `None` when it no longer
    /// exists, and then there is nothing to send any more (a test event apart, which is about nothing). `told` is the
    /// memory that the event is about, if it is about one that still exists; `made` the action item of no conversation.
    pub fn body(
        &self,
        delivery: &ClaimedDelivery,
        conversation: Option<&ConversationView>,
        told: Option<&Memory>,
        made: Option<&ActionItem>,
    ) -> Option<Vec<u8>> {
        let (name, data) = match (delivery.event, conversation) {
            (None, _) => ("webhook.test", json!({ "endpoint_id": delivery.endpoint_id })),
            (Some(event), Some(view)) => (event.as_str(), data(delivery, event, view, told)),
            (Some(event), None) if delivery.conversation_id.is_none() => {
                (event.as_str(), of_no_conversation(delivery, event, told, made))
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
    told: Option<&Memory>,
) -> Value {
    match (delivery.format, event) {
        (WebhookFormat::Thin, _) => ids_and_status(delivery, event, view),
        (WebhookFormat::Full | WebhookFormat::Bare, EventKind::MemoryCreated) => {
            told.map_or_else(|| ids_and_status(delivery, event, view), memory)
        }
        (WebhookFormat::Full | WebhookFormat::Bare, EventKind::ActionItemCreated) => {
            let subject = delivery.subject_id.as_deref();
            let item = view.action_items.iter().find(|item| Some(item.id.as_str()) == subject);
            item.map_or_else(|| ids_and_status(delivery, event, view), action_item)
        }
        (WebhookFormat::Full | WebhookFormat::Bare, _) => json!(conversation(view, true)),
    }
}

/// What a user created belongs to no conversation; it, too, is sent by its id when it was deleted meanwhile.
fn of_no_conversation(
    delivery: &ClaimedDelivery,
    event: EventKind,
    told: Option<&Memory>,
    made: Option<&ActionItem>,
) -> Value {
    let shown = match delivery.format {
        WebhookFormat::Thin => None,
        WebhookFormat::Full | WebhookFormat::Bare => told.map(memory).or_else(|| made.map(action_item)),
    };
    shown.unwrap_or_else(|| {
        let mut data = subject(delivery, event);
        data.insert("conversation_id".to_owned(), Value::Null);
        Value::Object(data)
    })
}

fn ids_and_status(delivery: &ClaimedDelivery, event: EventKind, view: &ConversationView) -> Value {
    let mut data = subject(delivery, event);
    data.insert("conversation_id".to_owned(), view.conversation.id.as_str().into());
    data.insert("status".to_owned(), view.conversation.status.as_str().into());
    data.insert("discarded".to_owned(), view.conversation.discarded.into());
    Value::Object(data)
}

/// The id of the thing that the event is about, under its name.
fn subject(delivery: &ClaimedDelivery, event: EventKind) -> Map<String, Value> {
    let name = match event {
        EventKind::ActionItemCreated => Some("action_item_id"),
        EventKind::MemoryCreated => Some("memory_id"),
        _ => None,
    };
    let id = delivery.subject_id.as_deref();
    name.zip(id).into_iter().map(|(name, id)| (name.to_owned(), id.into())).collect()
}

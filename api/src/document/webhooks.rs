//! What the service posts to endpoints: the document's `webhooks` section.

use records::EventKind;
use schemars::SchemaGenerator;
use serde_json::{Map, Value, json};

use crate::shapes::{ActionItem, Conversation, Memory, TestEventData, ThinCreatedData, ThinEventData};

/// One entry per event, and the test.
pub(super) fn webhooks(generator: &mut SchemaGenerator) -> Value {
    let events = EventKind::ALL.iter().map(|event| (event.as_str().to_owned(), post(*event, generator)));
    let mut webhooks: Map<_, _> = events.collect();
    webhooks.insert("webhook.test".to_owned(), test(generator));
    webhooks.into()
}

fn post(event: EventKind, generator: &mut SchemaGenerator) -> Value {
    let conversation = generator.subschema_for::<Conversation<'_>>();
    let (when, full) = match event {
        EventKind::ConversationCompleted => ("a conversation was created and processed", conversation),
        EventKind::ConversationFailed => ("processing a conversation failed for good", conversation),
        EventKind::ConversationDiscarded => ("a conversation was judged not worth keeping", conversation),
        EventKind::ActionItemCreated => (
            "an action item was heard in a conversation, or made by the user",
            generator.subschema_for::<ActionItem>(),
        ),
        EventKind::MemoryCreated => {
            ("a memory was heard in a conversation, or made by the user", generator.subschema_for::<Memory>())
        }
    };
    let mut shapes = vec![full, generator.subschema_for::<ThinEventData>()];
    if matches!(event, EventKind::ActionItemCreated | EventKind::MemoryCreated) {
        shapes.push(generator.subschema_for::<ThinCreatedData>());
    }
    let data = json!({ "anyOf": shapes });
    webhook(event.as_str(), format!("Sent when {when}, in the endpoint's format (`full` or `thin`)."), &data)
}

fn test(generator: &mut SchemaGenerator) -> Value {
    webhook(
        "webhook.test",
        "Sent by `POST /v1/dev/user/webhooks/{endpoint_id}/test`.".to_owned(),
        &generator.subschema_for::<TestEventData>().to_value(),
    )
}

fn webhook(name: &str, words: String, data: &Value) -> Value {
    let parameter = |name: &str, location: &str, words: &str| json!({ "name": name, "in": location, "required": true, "description": words, "schema": { "type": "string" } });
    json!({ "post": {
        "operationId": format!("on_{}", name.replace('.', "_")),
        "summary": name,
        "description": words,
        // The signature says who calls.
        "security": [],
        "parameters": [
            parameter("uid", "query", "The user's id, added to the endpoint's URL."),
            parameter("webhook-id", "header", "The delivery, the same for every try: store it to handle each once."),
            parameter("webhook-timestamp", "header", "Unix seconds of this try."),
            parameter("webhook-signature", "header", "`v1,` and the HMAC-SHA256 of `id.timestamp.body` in base64, by Standard Webhooks."),
            parameter("Idempotency-Key", "header", "The same as `webhook-id`."),
        ],
        "requestBody": { "required": true, "content": { "application/json": { "schema": {
            "type": "object",
            "required": ["type", "timestamp", "data"],
            "properties": {
                "type": { "type": "string", "const": name },
                "timestamp": { "type": "string", "format": "date-time", "description": "When it happened." },
                "data": data,
            },
        } } } },
        "responses": {
            "2XX": { "description": "Accepted. The body of the answer is ignored." },
            "410": { "description": "Gone: the endpoint is disabled, and receives no events that happen before it is enabled again." },
            "default": {
                "description": "408, 429 and 5xx are tried again for about three days, `Retry-After` is honoured; other \
                    statuses, redirects included, end the delivery.",
            },
        },
    } })
}

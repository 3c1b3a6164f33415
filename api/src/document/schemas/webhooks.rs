//! Webhook endpoints, their deliveries, and what receivers read.

use outbox::TRIES_KEPT;
use records::EventKind;
use serde_json::{Value, json};

use super::{count, object, one_of, reference, text, text_or_null, time, time_or_null, truth};

/// The schemas of `shapes/webhook.rs` and `shapes/webhook_body.rs`.
pub(super) fn schemas() -> Value {
    json!({
        "WebhookEvent": one_of("The events that an endpoint can subscribe to.", EventKind::ALL.map(EventKind::as_str)),
        "Webhook": endpoint("Where events are posted.", false),
        "NewlyMadeWebhook": endpoint("A new endpoint.", true),
        "Delivery": delivery(),
        "DeliveryTry": object(
            "One try of a delivery.",
            json!({
                "try": { "type": "integer", "minimum": 1, "description": "Its number; a redelivery begins with 1 again." },
                "at": time("When it ended."),
                "status": { "type": ["integer", "null"], "description": "The status of the answer." },
                "error": text_or_null("Why it failed: an error code."),
            }),
            &[],
        ),
        "Recovered": object("What a recovery sends again.", json!({ "recovered": count("How many deliveries.") }), &[]),
        "Thin": thin(),
        "ThinMade": thin_made(),
        "Test": object("A test.", json!({ "endpoint_id": text("The endpoint.") }), &[]),
    })
}

fn endpoint(words: &str, with_secret: bool) -> Value {
    let mut properties = json!({
        "id": text("Its id."),
        "url": text("Where to post."),
        "events": { "type": "array", "items": reference("WebhookEvent"), "description": "The events that it subscribes to." },
        "format": one_of(
            "The whole conversation, ids and status, or (of an installed app's) the conversation without an envelope.",
            ["full", "thin", "bare"],
        ),
        "enabled": truth("Whether it receives events."),
        "disabled_reason": {
            "type": ["string", "null"], "enum": ["by_owner", "gone", "failing", null],
            "description": "Why it is disabled: by its owner, it answered 410, or five days of nothing but failures.",
        },
        "failing_since": time_or_null("Since when deliveries fail."),
        "last_success_at": time_or_null("The last 2xx."),
        "created_at": time("When it was made."),
        "updated_at": time("When it last changed."),
        "app_id": text_or_null("The app whose installation made it: it goes with the app, and is not changed here."),
    });
    if with_secret {
        properties["secret"] = text("`whsec_…`: deliveries are signed with it. Shown this once.");
    }
    // A repeat under an `Idempotency-Key` does not show the secret again.
    object(words, properties, &["secret"])
}

fn delivery() -> Value {
    object(
        "One event on its way to one endpoint.",
        json!({
            "id": text("Its id: `webhook-id` of every try."),
            "event": text("The event; `webhook.test` for a test."),
            "conversation_id": text_or_null("The conversation of the event."),
            "status": one_of("The status.", ["pending", "sending", "delivered", "exhausted", "cancelled"]),
            "tries": count("Number of tries."),
            "last_status": { "type": ["integer", "null"], "description": "The status of the last answer." },
            "last_error": text_or_null("Why the last try failed: an error code."),
            "next_at": time_or_null("When it is tried next."),
            "created_at": time("When it was written."),
            "finished_at": time_or_null("When it ended."),
            "history": {
                "type": "array", "items": reference("DeliveryTry"), "maxItems": TRIES_KEPT,
                "description": "The newest tries, oldest first.",
            },
        }),
        &[],
    )
}

fn thin() -> Value {
    object(
        "Ids and status, without a word that was said.",
        json!({
            "action_item_id": text("The item, of `action_item.created`."),
            "memory_id": text("The memory, of `memory.created`."),
            "conversation_id": text("The conversation."),
            "status": text("Its status."),
            "discarded": truth("Whether it is hidden."),
        }),
        &["action_item_id", "memory_id"],
    )
}

fn thin_made() -> Value {
    object(
        "The id of what a user created, without its text.",
        json!({
            "action_item_id": text("The item, of `action_item.created`."),
            "memory_id": text("The memory, of `memory.created`."),
            "conversation_id": { "type": "null", "description": "It belongs to no conversation." },
        }),
        &["action_item_id", "memory_id"],
    )
}

//! A person's own settings, whom they know, and where they are reminded.

use records::APPS;
use serde_json::{Value, json};

use super::{object, one_of, text, text_or_null, time, time_or_null, truth};

/// The schemas of `shapes/profile.rs`.
pub(super) fn schemas() -> Value {
    json!({
        "Profile": profile(),
        "Person": person(),
        "PushSubscription": subscription(),
        "PushKey": object(
            "What a browser subscribes with.",
            json!({ "public_key": text("`applicationServerKey`, base64url.") }),
            &[],
        ),
    })
}

fn profile() -> Value {
    object(
        "The user's settings.",
        json!({
            "id": text("The person's id."),
            "name": text_or_null("The user's name as a speaker."),
            "time_zone": text("An IANA time zone: due dates are resolved in it."),
            "language": text("A language code."),
            "requires_byok": truth("Their conversations are processed with their own model key only."),
            "apps": {
                "type": "array", "items": one_of("A summarization app.", APPS),
                "description": "Summarization apps that are on.",
            },
            "created_at": time("When the user was created."),
        }),
        &[],
    )
}

fn person() -> Value {
    object(
        "A person whom the user knows: `person_id` of segments.",
        json!({
            "id": text("Their id."),
            "name": text("Their name, 1–100 characters."),
            "created_at": time("When they were added."),
            "updated_at": time("When they were last renamed."),
        }),
        &[],
    )
}

fn subscription() -> Value {
    object(
        "Where the user gets reminders of action items.",
        json!({
            "id": text("Its id."),
            "kind": one_of("A browser or a webhook.", ["webpush", "webhook"]),
            "endpoint": text("Of a browser's: its push service's address."),
            "url": text("Of a webhook: where to post."),
            "failing_since": time_or_null("Since when deliveries fail."),
            "last_success_at": time_or_null("The last successful delivery."),
            "created_at": time("When it was made."),
        }),
        &["endpoint", "url"],
    )
}

//! A user's audio webhook.

use serde_json::{Value, json};

use super::{object, one_of, text, time, time_or_null, truth};

/// The schemas of `shapes/audio_webhook.rs`.
pub(super) fn schemas() -> Value {
    let mut set = fields();
    set["status"] = one_of("For clients that look for it.", ["ok"]);
    set["secret"] = text("`whsec_…`: requests are signed with it. Shown when it is new.");
    json!({
        "AudioWebhook": object("Where raw audio is posted.", fields(), &[]),
        "AudioWebhookSet": object("Where raw audio is posted.", set, &["secret"]),
    })
}

fn fields() -> Value {
    json!({
        "url": text("Where to post."),
        "seconds": { "type": "integer", "minimum": 1, "maximum": 60, "description": "Seconds of audio in each request." },
        "enabled": truth("Whether it receives audio."),
        "disabled_reason": {
            "type": ["string", "null"], "enum": ["by_owner", "gone", "failing", null],
            "description": "Why it is disabled: by its owner, it answered 410, or 100 failures in a row.",
        },
        "failing_since": time_or_null("Since when requests fail."),
        "last_success_at": time_or_null("The last 2xx, to the minute."),
        "created_at": time("When it was first set."),
        "updated_at": time("When its owner last changed it."),
    })
}

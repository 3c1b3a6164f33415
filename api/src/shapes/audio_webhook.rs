//! A user's audio webhook.

use outbox::AudioWebhook;
use serde_json::{Value, json};

use super::moment;

/// It, without its secret.
pub fn audio_webhook(webhook: &AudioWebhook) -> Value {
    json!({
        "url": webhook.url,
        "seconds": webhook.seconds,
        "enabled": webhook.enabled,
        "disabled_reason": webhook.disabled_reason,
        "failing_since": webhook.failing_since.map(moment),
        "last_success_at": webhook.last_success_at.map(moment),
        "created_at": moment(webhook.created_at),
        "updated_at": moment(webhook.updated_at),
    })
}

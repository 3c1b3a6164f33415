//! A user's audio webhook.

use outbox::AudioWebhook as Record;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use super::{Time, with, words::AudioDisabledReason};
use crate::shapes::Shape;

/// Where raw audio is posted.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AudioWebhook {
    /// Where to post.
    url: String,
    /// Seconds of audio in each request.
    #[schemars(range(min = 1, max = 60))]
    seconds: i32,
    /// Whether it receives audio.
    enabled: bool,
    /// Why it is disabled.
    #[schemars(with = "Option<AudioDisabledReason>")]
    disabled_reason: Option<String>,
    /// Since when requests fail.
    failing_since: Option<Time>,
    /// The last 2xx, to the minute.
    last_success_at: Option<Time>,
    /// When it was first set.
    created_at: Time,
    /// When its owner last changed it.
    updated_at: Time,
}

impl Shape for AudioWebhook {
    fn example() -> Value {
        json!({
            "url": "https://example.com/audio",
            "seconds": 5,
            "enabled": true,
            "disabled_reason": null,
            "failing_since": null,
            "last_success_at": "2026-11-21T09:00:02Z",
            "created_at": "2026-11-20T12:00:00Z",
            "updated_at": "2026-11-20T12:00:00Z",
        })
    }
}

/// Where raw audio is posted, after a change.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ChangedAudioWebhook {
    #[serde(flatten)]
    webhook: AudioWebhook,
    /// For clients that look for it.
    #[schemars(extend("const" = "ok"))]
    status: &'static str,
    /// `whsec_…`: requests are signed with it. Shown when it is new.
    #[serde(skip_serializing_if = "Option::is_none")]
    secret: Option<String>,
}

impl Shape for ChangedAudioWebhook {
    fn example() -> Value {
        let changed = with(AudioWebhook::example(), "status", "ok");
        with(changed, "secret", "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDbGmhWzS6Y6M=")
    }
}

/// It, without its secret.
pub fn audio_webhook(webhook: &Record) -> AudioWebhook {
    AudioWebhook {
        url: webhook.url.clone(),
        seconds: webhook.seconds,
        enabled: webhook.enabled,
        disabled_reason: webhook.disabled_reason.clone(),
        failing_since: webhook.failing_since.map(Time::from),
        last_success_at: webhook.last_success_at.map(Time::from),
        created_at: webhook.created_at.into(),
        updated_at: webhook.updated_at.into(),
    }
}

/// It after a change, with its secret where that is a new one.
pub(crate) fn changed_audio_webhook(webhook: &Record, secret: Option<&str>) -> ChangedAudioWebhook {
    ChangedAudioWebhook { webhook: audio_webhook(webhook), status: "ok", secret: secret.map(str::to_owned) }
}

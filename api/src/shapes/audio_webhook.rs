//! A user's audio webhook.

use outbox::AudioWebhook as Record;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::{Time, with, words::AudioDisabledReason};
use crate::shapes::Shape;

shape! {
    /// Where raw audio is posted.
    pub audio_webhook(webhook: &Record) -> AudioWebhook {
        /// Where to post.
        url: String = webhook.url.clone(), "https://example.com/audio";
        /// Seconds of audio in each request.
        #[schemars(range(min = 1, max = 60))]
        seconds: i32 = webhook.seconds, 5;
        /// Whether it receives audio.
        enabled: bool = webhook.enabled, true;
        /// Why it is disabled.
        #[schemars(with = "Option<AudioDisabledReason>")]
        disabled_reason: Option<String> = webhook.disabled_reason.clone(), null;
        /// Since when requests fail.
        failing_since: Option<Time> = webhook.failing_since.map(Time::from), null;
        /// The last 2xx, to the minute.
        last_success_at: Option<Time> = webhook.last_success_at.map(Time::from), "2026-11-21T09:00:02Z";
        /// When it was first set.
        created_at: Time = webhook.created_at.into(), "2026-11-20T12:00:00Z";
        /// When its owner last changed it.
        updated_at: Time = webhook.updated_at.into(), "2026-11-20T12:00:00Z";
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

/// It after a change, with its secret where that is a new one.
pub(crate) fn changed_audio_webhook(webhook: &Record, secret: Option<&str>) -> ChangedAudioWebhook {
    ChangedAudioWebhook { webhook: audio_webhook(webhook), status: "ok", secret: secret.map(str::to_owned) }
}

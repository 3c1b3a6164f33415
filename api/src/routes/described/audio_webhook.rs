//! Where raw audio is posted.

use serde_json::{Value, json};

use super::examples;
use crate::{
    Scope,
    document::{Answer, Described, Operation},
    read::Drawing,
    routes::audio_webhook,
};

const TAG: &str = "Live audio";
const PATH: &str = "/v1/users/developer/webhook/audio_bytes";

/// The audio webhook of a user.
pub(super) fn operations() -> Vec<Operation> {
    vec![set(), one(), switch(true), switch(false)]
}

fn set() -> Operation {
    let fields = Described::new(
        Drawing::of(|fields| audio_webhook::read(fields, |_| true)),
        &[
            (
                "url",
                "An https URL of a public address; its seconds may follow behind a comma. Empty: disables it.",
                "",
            ),
            ("seconds", "Seconds of audio in each request.", "5"),
            ("new_secret", "`true`: another secret signs from now on.", "false"),
        ],
    );
    let example =
        examples::with(set_example(), "secret", "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDbGmhWzS6Y6M=");
    Operation::new("post", PATH, "set_audio_webhook", TAG, "Send raw audio to a server")
        .says(
            "Audio of the user's live sessions is posted there, so many seconds at a time: PCM16, little-endian, mono, with \
             `sample_rate` and `uid` added to the query, signed by the rules of Standard Webhooks. It is enabled from now on. \
             `secret` is in the answer where it is a new one: the first time, for another URL, and with `new_secret`.",
        )
        .needs(Scope::WebhooksWrite)
        .body("NewAudioWebhook", fields, json!({ "url": "https://example.com/audio", "seconds": 5 }))
        .answers(Answer::one("AudioWebhookSet", "As it is now.", example))
        .not_found(audio_webhook::KIND)
}

fn one() -> Operation {
    Operation::new("get", PATH, "get_audio_webhook", TAG, "Read where raw audio is sent")
        .needs(Scope::WebhooksRead)
        .answers(Answer::one("AudioWebhook", "What is set.", example()))
        .not_found(audio_webhook::KIND)
}

fn switch(on: bool) -> Operation {
    let operation = match on {
        true => Operation::new(
            "post",
            "/v1/users/developer/webhook/audio_bytes/enable",
            "enable_audio_webhook",
            TAG,
            "Send raw audio again",
        )
        .says("Clears every mark of failure."),
        false => Operation::new(
            "post",
            "/v1/users/developer/webhook/audio_bytes/disable",
            "disable_audio_webhook",
            TAG,
            "Send no raw audio",
        ),
    };
    operation
        .needs(Scope::WebhooksWrite)
        .answers(Answer::one("AudioWebhookSet", "As it is now.", set_example()))
        .not_found(audio_webhook::KIND)
}

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

fn set_example() -> Value {
    examples::with(example(), "status", "ok")
}

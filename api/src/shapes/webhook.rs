//! Webhook endpoints and their deliveries.

use outbox::{DeliveryView, Endpoint, TRIES_KEPT};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use super::{
    Time, with,
    words::{DeliveryStatus, DisabledReason, WebhookEvent, WebhookFormat},
};
use crate::shapes::Shape;

/// Where events are posted.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Webhook {
    /// Its id.
    id: String,
    /// Where to post.
    url: String,
    /// The events that it subscribes to.
    #[schemars(with = "Vec<WebhookEvent>")]
    events: Vec<&'static str>,
    /// What is sent.
    #[schemars(with = "WebhookFormat")]
    format: &'static str,
    /// Whether it receives events.
    enabled: bool,
    /// Why it is disabled.
    #[schemars(with = "Option<DisabledReason>")]
    disabled_reason: Option<String>,
    /// Since when deliveries fail.
    failing_since: Option<Time>,
    /// The last 2xx.
    last_success_at: Option<Time>,
    /// When it was made.
    created_at: Time,
    /// When it last changed.
    updated_at: Time,
    /// The app whose installation made it: it goes with the app, and is not changed here.
    app_id: Option<String>,
}

impl Shape for Webhook {
    fn example() -> Value {
        json!({
            "id": "01993b20-1d4b-7a10-8a53-8b0c5d6e7f80",
            "url": "https://example.com/hook",
            "events": ["conversation.completed"],
            "format": "full",
            "enabled": true,
            "disabled_reason": null,
            "failing_since": null,
            "last_success_at": "2026-11-21T09:00:02Z",
            "created_at": "2026-11-20T12:00:00Z",
            "updated_at": "2026-11-20T12:00:00Z",
            "app_id": null,
        })
    }
}

/// A new endpoint. A repeat under an `Idempotency-Key` does not show its secret again.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CreatedWebhook {
    #[serde(flatten)]
    webhook: Webhook,
    /// `whsec_…`: deliveries are signed with it. Shown this once.
    #[serde(skip_serializing_if = "Option::is_none")]
    secret: Option<String>,
}

impl Shape for CreatedWebhook {
    fn example() -> Value {
        with(Webhook::example(), "secret", "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDbGmhWzS6Y6M=")
    }
}

/// An endpoint without its secret.
pub fn endpoint(endpoint: &Endpoint) -> Webhook {
    Webhook {
        id: endpoint.id.clone(),
        url: endpoint.url.clone(),
        events: endpoint.events.iter().map(|event| event.as_str()).collect(),
        format: endpoint.format.as_str(),
        enabled: endpoint.enabled,
        disabled_reason: endpoint.disabled_reason.clone(),
        failing_since: endpoint.failing_since.map(Time::from),
        last_success_at: endpoint.last_success_at.map(Time::from),
        created_at: endpoint.created_at.into(),
        updated_at: endpoint.updated_at.into(),
        app_id: endpoint.app_id.clone(),
    }
}

/// The same with its secret.
pub(crate) fn created_endpoint(created: &Endpoint, secret: &str) -> CreatedWebhook {
    CreatedWebhook { webhook: endpoint(created), secret: Some(secret.to_owned()) }
}

/// One event to be sent to one endpoint.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Delivery {
    /// Its id: `webhook-id` of every try.
    id: String,
    /// The event; `webhook.test` for a test.
    event: String,
    /// The conversation of the event.
    conversation_id: Option<String>,
    /// The status.
    #[schemars(with = "DeliveryStatus")]
    status: String,
    /// Number of tries.
    #[schemars(range(min = 0))]
    tries: i32,
    /// The status of the last answer.
    last_status: Option<i32>,
    /// Why the last try failed: an error code.
    last_error: Option<String>,
    /// When it is tried next.
    next_at: Option<Time>,
    /// When it was written.
    created_at: Time,
    /// When it ended.
    finished_at: Option<Time>,
    /// The newest tries, oldest first.
    #[schemars(length(max = TRIES_KEPT))]
    history: Vec<DeliveryTry>,
}

/// One try of a delivery.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DeliveryTry {
    /// Its number; a redelivery begins with 1 again.
    #[serde(rename = "try")]
    #[schemars(range(min = 1))]
    number: i32,
    /// When it ended.
    at: Time,
    /// The status of the answer.
    status: Option<i32>,
    /// Why it failed: an error code.
    error: Option<String>,
}

impl Shape for Delivery {
    fn example() -> Value {
        json!({
            "id": "01993b20-2e5c-7b21-9c64-9c1d6e7f8091",
            "event": "conversation.completed",
            "conversation_id": super::conversation::ID,
            "status": "delivered",
            "tries": 1,
            "last_status": 200,
            "last_error": null,
            "next_at": null,
            "created_at": "2026-11-21T09:00:01Z",
            "finished_at": "2026-11-21T09:00:02Z",
            "history": [{ "try": 1, "at": "2026-11-21T09:00:02Z", "status": 200, "error": null }],
        })
    }
}

/// A delivery, without its body. That the addresses of a name are refused is for operators: its owner sees the same as for a
/// name that does not exist, and cannot ask which inner names there are.
pub fn delivery(delivery: &DeliveryView) -> Delivery {
    Delivery {
        id: delivery.id.clone(),
        event: delivery.event.clone(),
        conversation_id: delivery.conversation_id.clone(),
        status: delivery.status.clone(),
        tries: delivery.tries,
        last_status: delivery.last_status,
        last_error: delivery.last_error.as_deref().map(shown),
        next_at: delivery.next_at.map(Time::from),
        created_at: delivery.created_at.into(),
        finished_at: delivery.finished_at.map(Time::from),
        history: delivery.history.iter().map(tried).collect(),
    }
}

fn tried(tried: &outbox::DeliveryTry) -> DeliveryTry {
    DeliveryTry {
        number: tried.number,
        at: tried.at.into(),
        status: tried.status,
        error: tried.error.as_deref().map(shown),
    }
}

/// What a recovery sends again.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Recovered {
    /// How many deliveries.
    pub(crate) recovered: u64,
}

impl Shape for Recovered {
    fn example() -> Value {
        json!({ "recovered": 3 })
    }
}

fn shown(error: &str) -> String {
    match error {
        "refused_address" => "unreachable".to_owned(),
        error => error.to_owned(),
    }
}

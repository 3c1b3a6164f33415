//! Webhook endpoints and their deliveries.

use outbox::{DeliveryView, Endpoint};
use serde_json::{Value, json};

use super::moment;

/// An endpoint without its secret.
pub fn endpoint(endpoint: &Endpoint) -> Value {
    json!({
        "id": endpoint.id,
        "url": endpoint.url,
        "events": endpoint.events.iter().map(|event| event.as_str()).collect::<Vec<_>>(),
        "format": endpoint.format.as_str(),
        "enabled": endpoint.enabled,
        "disabled_reason": endpoint.disabled_reason,
        "failing_since": endpoint.failing_since.map(moment),
        "last_success_at": endpoint.last_success_at.map(moment),
        "created_at": moment(endpoint.created_at),
        "updated_at": moment(endpoint.updated_at),
        "app_id": endpoint.app_id,
    })
}

/// A delivery, without its body. That the addresses of a name are refused is for operators: its owner sees the same as for a
/// name that does not exist, and cannot ask which inner names there are.
pub fn delivery(delivery: &DeliveryView) -> Value {
    json!({
        "id": delivery.id,
        "event": delivery.event,
        "conversation_id": delivery.conversation_id,
        "status": delivery.status,
        "tries": delivery.tries,
        "last_status": delivery.last_status,
        "last_error": delivery.last_error.as_deref().map(shown),
        "next_at": delivery.next_at.map(moment),
        "created_at": moment(delivery.created_at),
        "finished_at": delivery.finished_at.map(moment),
        "history": delivery.history.iter().map(|tried| json!({
            "try": tried.number,
            "at": moment(tried.at),
            "status": tried.status,
            "error": tried.error.as_deref().map(shown),
        })).collect::<Vec<_>>(),
    })
}

fn shown(error: &str) -> &str {
    match error {
        "refused_address" => "unreachable",
        error => error,
    }
}

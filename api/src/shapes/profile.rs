//! What hangs on a person's profile: settings, known people, push subscriptions.

use outbox::Subscription;
use serde_json::{Value, json};
use store::{KnownPerson, User};

use super::moment;

/// A person's own settings (DECISIONS §2).
pub fn user(user: &User) -> Value {
    json!({
        "id": user.id.as_str(),
        "name": user.name,
        "time_zone": user.time_zone,
        "language": user.language,
        "requires_byok": user.requires_byok,
        "apps": user.apps,
        "created_at": moment(user.created_at),
    })
}

/// A person whom the user knows (DECISIONS §1, "a person of the user's").
pub fn person(person: &KnownPerson) -> Value {
    json!({
        "id": person.id,
        "name": person.name,
        "created_at": moment(person.created_at),
        "updated_at": moment(person.updated_at),
    })
}

/// A push subscription without its keys; its address has the name that it was sent under.
pub fn subscription(subscription: &Subscription) -> Value {
    let address = if subscription.kind == "webpush" { "endpoint" } else { "url" };
    json!({
        "id": subscription.id,
        "kind": subscription.kind,
        address: subscription.url,
        "failing_since": subscription.failing_since.map(moment),
        "last_success_at": subscription.last_success_at.map(moment),
        "created_at": moment(subscription.created_at),
    })
}

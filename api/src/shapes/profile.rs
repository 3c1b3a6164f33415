//! What hangs on a person's profile: settings, known people, push subscriptions.

use outbox::Subscription;

use serde_json::{Value, json};
use store::{KnownPerson, User};

use super::{
    Time,
    words::{SubscriptionKind, SummaryApp},
};
use crate::shapes::Shape;

shape! {
    /// The user's settings.
    // DECISIONS §2.
    pub user(user: &User) -> Profile {
        /// The user's id.
        id: String = user.id.as_str().to_owned(), "ada";
        /// The user's name as a speaker.
        name: Option<String> = user.name.clone(), "Ada";
        /// An IANA time zone: due dates are resolved in it.
        time_zone: String = user.time_zone.clone(), "Europe/London";
        /// A language code.
        language: String = user.language.clone(), "en";
        /// Their conversations are processed with their own model key only.
        requires_byok: bool = user.requires_byok, false;
        /// Summarization apps that are on.
        #[schemars(with = "Vec<SummaryApp>")]
        apps: Vec<String> = user.apps.clone(), ["minutes"];
        /// When the user was created.
        created_at: Time = user.created_at.into(), "2026-11-20T12:00:00Z";
    }
}

shape! {
    /// A person whom the user knows: `person_id` of segments.
    // DECISIONS §1, "a person of the user's".
    pub person(person: &KnownPerson) -> Person {
        /// Their id.
        id: String = person.id.clone(), "01993b25-73b1-7076-81b9-4162b3c45678";
        /// Their name, 1–100 characters.
        name: String = person.name.clone(), "Helena";
        /// When they were added.
        created_at: Time = person.created_at.into(), "2026-11-21T09:00:00Z";
        /// When they were last renamed.
        updated_at: Time = person.updated_at.into(), "2026-11-21T09:00:00Z";
    }
}

shape! {
    /// Where the user gets reminders of action items.
    // Without its keys; its address has the name that it was sent under.
    pub subscription(subscription: &Subscription) -> PushSubscription {
        /// Its id.
        id: String = subscription.id.clone();
        /// A browser or a webhook.
        #[schemars(with = "SubscriptionKind")]
        kind: String = subscription.kind.clone();
        /// Of a browser's: its push service's address.
        #[serde(skip_serializing_if = "Option::is_none")]
        endpoint: Option<String> = address(subscription, "webpush");
        /// Of a webhook: where to post.
        #[serde(skip_serializing_if = "Option::is_none")]
        url: Option<String> = address(subscription, "webhook");
        /// Since when deliveries fail.
        failing_since: Option<Time> = subscription.failing_since.map(Time::from);
        /// The last successful delivery.
        last_success_at: Option<Time> = subscription.last_success_at.map(Time::from);
        /// When it was made.
        created_at: Time = subscription.created_at.into();
    }
}

impl Shape for PushSubscription {
    fn example() -> Value {
        json!({
            "id": "8d1f6c1e-3f0b-5a0e-9a57-1e2c7c514f8d",
            "kind": "webhook",
            "url": "https://example.com/remind",
            "failing_since": null,
            "last_success_at": null,
            "created_at": "2026-11-21T09:00:00Z",
        })
    }
}

fn address(subscription: &Subscription, kind: &str) -> Option<String> {
    (subscription.kind == kind).then(|| subscription.url.clone())
}

shape! {
    /// What a browser subscribes with.
    pub push_key(key: &str) -> PushKey {
        /// `applicationServerKey`, base64url.
        public_key: String = key.to_owned(),
            "BGsX0fLhLEJH-Lzm5WOkQPJ3A32BLeszoPShOUXYmMKWT-NC4v4af5uO5-tKfA-eFivOM1drMV7Oy7ZAaDe_UfU";
    }
}

//! Webhook endpoints and their deliveries.

use outbox::{DeliveryView, Endpoint, TRIES_KEPT};

use super::{
    Time,
    words::{DeliveryStatus, DisabledReason, WebhookEvent, WebhookFormat},
};

shape! {
    /// Where events are posted.
    pub endpoint(endpoint: &Endpoint) -> Webhook {
        /// Its id.
        id: String = endpoint.id.clone(), "01993b20-1d4b-7a10-8a53-8b0c5d6e7f80";
        /// Where to post.
        url: String = endpoint.url.clone(), "https://example.com/hook";
        /// The events that it subscribes to.
        #[schemars(with = "Vec<WebhookEvent>")]
        events: Vec<&'static str> = endpoint.events.iter().map(|event| event.as_str()).collect(),
            ["conversation.completed"];
        /// What is sent.
        #[schemars(with = "WebhookFormat")]
        format: &'static str = endpoint.format.as_str(), "full";
        /// Whether it receives events.
        enabled: bool = endpoint.enabled, true;
        /// Why it is disabled.
        #[schemars(with = "Option<DisabledReason>")]
        disabled_reason: Option<String> = endpoint.disabled_reason.clone(), null;
        /// Since when deliveries fail.
        failing_since: Option<Time> = endpoint.failing_since.map(Time::from), null;
        /// The last 2xx.
        last_success_at: Option<Time> = endpoint.last_success_at.map(Time::from), "2026-11-21T09:00:02Z";
        /// When it was made.
        created_at: Time = endpoint.created_at.into(), "2026-11-20T12:00:00Z";
        /// When it last changed.
        updated_at: Time = endpoint.updated_at.into(), "2026-11-20T12:00:00Z";
        /// The app whose installation made it: it goes with the app, and is not changed here.
        app_id: Option<String> = endpoint.app_id.clone(), null;
    }
}

shown_once! {
    /// A new endpoint. A repeat under an `Idempotency-Key` does not show its secret again.
    created_endpoint(Webhook) -> CreatedWebhook {
        /// `whsec_…`: deliveries are signed with it. Shown this once.
        secret = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDbGmhWzS6Y6M="
    }
}

shape! {
    /// One event to be sent to one endpoint.
    // That the addresses of a name are refused is for operators: its owner sees the same as for a name that does not exist, and
    // cannot ask which inner names there are.
    pub delivery(delivery: &DeliveryView) -> Delivery {
        /// Its id: `webhook-id` of every try.
        id: String = delivery.id.clone(), "01993b20-2e5c-7b21-9c64-9c1d6e7f8091";
        /// The event; `webhook.test` for a test.
        event: String = delivery.event.clone(), "conversation.completed";
        /// The conversation of the event.
        conversation_id: Option<String> = delivery.conversation_id.clone(), (super::conversation::ID);
        /// The status.
        #[schemars(with = "DeliveryStatus")]
        status: String = delivery.status.clone(), "delivered";
        /// Number of tries.
        #[schemars(range(min = 0))]
        tries: i32 = delivery.tries, 1;
        /// The status of the last answer.
        last_status: Option<i32> = delivery.last_status, 200;
        /// Why the last try failed: an error code.
        last_error: Option<String> = delivery.last_error.as_deref().map(shown), null;
        /// When it is tried next.
        next_at: Option<Time> = delivery.next_at.map(Time::from), null;
        /// When it was written.
        created_at: Time = delivery.created_at.into(), "2026-11-21T09:00:01Z";
        /// When it ended.
        finished_at: Option<Time> = delivery.finished_at.map(Time::from), "2026-11-21T09:00:02Z";
        /// The newest tries, oldest first.
        #[schemars(length(max = TRIES_KEPT))]
        history: Vec<DeliveryTry> = delivery.history.iter().map(tried).collect(),
            [{ "try": 1, "at": "2026-11-21T09:00:02Z", "status": 200, "error": null }];
    }
}

shape! {
    /// One try of a delivery.
    pub tried(tried: &outbox::DeliveryTry) -> DeliveryTry {
        /// Its number; a redelivery begins with 1 again.
        #[serde(rename = "try")]
        #[schemars(range(min = 1))]
        number: i32 = tried.number;
        /// When it ended.
        at: Time = tried.at.into();
        /// The status of the answer.
        status: Option<i32> = tried.status;
        /// Why it failed: an error code.
        error: Option<String> = tried.error.as_deref().map(shown);
    }
}

shape! {
    /// What a recovery sends again.
    pub recovered(recovery: &outbox::deliveries::recover::Recovery) -> Recovered {
        /// How many deliveries.
        #[schemars(range(min = 0))]
        recovered: i64 = recovery.deliveries, 3;
        /// Where there may be more: `since` of the next request.
        next_since: Option<Time> = recovery.next.map(Time::from), null;
    }
}

fn shown(error: &str) -> String {
    match error {
        "refused_address" => "unreachable".to_owned(),
        error => error.to_owned(),
    }
}

//! Endpoints and deliveries.

use serde_json::{Value, json};

use super::{CURSOR, examples};
use crate::{
    Scope,
    document::{Answer, Described, Operation},
    error::Code,
    read::Drawing,
    routes::{deliveries, webhooks},
};

const TAG: &str = "Webhooks";
const ALL: &str = "/v1/dev/user/webhooks";
const ONE: &str = "/v1/dev/user/webhooks/{endpoint_id}";

const URL: &str = "An https URL of a public address.";
const EVENTS: &str = "The events that it subscribes to.";
const FORMAT: &str = "The whole conversation, or ids and status.";

/// Endpoints, their events and deliveries.
pub(super) fn operations() -> Vec<Operation> {
    vec![
        list(),
        create(),
        one(),
        change(),
        delete(),
        test(),
        list_deliveries(),
        redeliver(),
        recover(),
        rotate(),
    ]
}

fn list() -> Operation {
    Operation::new("get", ALL, "list_webhooks", TAG, "List")
        .needs(Scope::WebhooksRead)
        .answers(Answer::all("Webhook", examples::webhook()))
}

fn create() -> Operation {
    let fields = Described::new(
        Drawing::of(|fields| webhooks::read_new(fields, |_| true)),
        &[
            ("url", URL, ""),
            ("events", EVENTS, "[\"conversation.completed\"]"),
            ("format", FORMAT, "\"full\""),
            (
                "force",
                "Also where the user has a webhook with this URL already: every event is then sent to it twice.",
                "false",
            ),
        ],
    );
    let secret = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDbGmhWzS6Y6M=";
    let made = Answer::one(
        "NewlyMadeWebhook",
        "It receives events from now on.",
        examples::with(examples::webhook(), "secret", secret),
    )
    .leads_to("get_webhook", "endpoint_id", "/id")
    .leads_to("update_webhook", "endpoint_id", "/id")
    .leads_to("test_webhook", "endpoint_id", "/id")
    .leads_to("list_deliveries", "endpoint_id", "/id")
    .leads_to("recover_webhook", "endpoint_id", "/id")
    .leads_to("rotate_webhook_secret", "endpoint_id", "/id")
    .leads_to("delete_webhook", "endpoint_id", "/id");
    Operation::new("post", ALL, "create_webhook", TAG, "Create")
        .says("Deliveries are signed by the rules of Standard Webhooks with the `secret`, which is shown this once.")
        .needs(Scope::WebhooksWrite)
        .creates()
        .body("NewWebhook", fields, json!({ "url": "https://example.com/hook", "events": ["conversation.completed"] }))
        .answers(made)
        .conflict("There are 20 webhooks already")
        .conflict(Code::WebhookExists.detail())
}

fn one() -> Operation {
    Operation::new("get", ONE, "get_webhook", TAG, "Read one")
        .needs(Scope::WebhooksRead)
        .conditional()
        .answers(Answer::one("Webhook", "The endpoint.", examples::webhook()))
        .not_found("Webhook")
}

fn change() -> Operation {
    let fields = Described::new(
        Drawing::of(|fields| webhooks::read_change(fields, |_| true)),
        &[
            ("url", URL, ""),
            ("events", EVENTS, ""),
            ("format", FORMAT, ""),
            ("enabled", "`true` clears every mark of failure.", ""),
        ],
    );
    Operation::new("patch", ONE, "update_webhook", TAG, "Change")
        .says("At least one field.")
        .needs(Scope::WebhooksWrite)
        .body("WebhookChange", fields, json!({ "enabled": true }))
        .answers(Answer::one("Webhook", "As it is now.", examples::webhook()))
        .not_found("Webhook")
        .conflict(Code::WebhookOfApp.detail())
}

fn delete() -> Operation {
    Operation::new("delete", ONE, "delete_webhook", TAG, "Delete")
        .says("With its undelivered events.")
        .needs(Scope::WebhooksWrite)
        .answers(Answer::gone())
        .not_found("Webhook")
        .conflict(Code::WebhookOfApp.detail())
}

fn test() -> Operation {
    Operation::new("post", "/v1/dev/user/webhooks/{endpoint_id}/test", "test_webhook", TAG, "Test")
        .says("Writes a `webhook.test` event, which is delivered like any other.")
        .needs(Scope::WebhooksWrite)
        .creates()
        .answers(Answer::one("Delivery", "Being delivered.", examples::delivery()))
        .not_found("Webhook")
}

fn list_deliveries() -> Operation {
    let query = Described::new(
        Drawing::of(deliveries::read_page),
        &[
            ("limit", "Maximum number of results.", "25"),
            ("offset", "Number of results to skip.", "0"),
            ("status", "Deliveries of this status.", ""),
            CURSOR,
        ],
    );
    Operation::new(
        "get",
        "/v1/dev/user/webhooks/{endpoint_id}/deliveries",
        "list_deliveries",
        TAG,
        "List deliveries",
    )
    .says("Newest first.")
    .needs(Scope::WebhooksRead)
    .query(query)
    .answers(Answer::page("Delivery", examples::delivery()))
    .not_found("Webhook")
}

fn redeliver() -> Operation {
    Operation::new(
        "post",
        "/v1/dev/user/webhooks/{endpoint_id}/deliveries/{delivery_id}/redeliver",
        "redeliver",
        TAG,
        "Deliver once more",
    )
    .says("A finished delivery, under its own id.")
    .needs(Scope::WebhooksWrite)
    .answers(Answer::one("Delivery", "Being delivered again.", examples::delivery()))
    .not_found("Webhook")
    .not_found("Delivery")
    .conflict("Delivery is still under way")
}

fn recover() -> Operation {
    let fields = Described::new(
        Drawing::of(deliveries::read_since),
        &[("since", "Send what was given up since this moment.", "")],
    );
    Operation::new("post", "/v1/dev/user/webhooks/{endpoint_id}/recover", "recover_webhook", TAG, "Recover")
        .says(
            "Delivers once more what was given up, each under its own id. What is still being tried goes on as it is, and what \
             happened while the endpoint was disabled was not written down for it: ask for that by its time.",
        )
        .needs(Scope::WebhooksWrite)
        .body("Recovery", fields, json!({ "since": "2026-11-20T00:00:00Z" }))
        .answers(Answer::one("Recovered", "Being delivered again.", json!({ "recovered": 3 })))
        .not_found("Webhook")
}

fn rotate() -> Operation {
    Operation::new(
        "post",
        "/v1/dev/user/webhooks/{endpoint_id}/rotate-secret",
        "rotate_webhook_secret",
        TAG,
        "Rotate the secret",
    )
    .says(
        "For a day, deliveries carry the signature of the old secret, too. Rotated again within that day, they carry \
         it until the day is over, and that of the newest one; the secret between, whose answer may have been lost, \
         signs no more.",
    )
    .needs(Scope::WebhooksWrite)
    .answers(Answer::one("NewlyMadeWebhook", "The new secret, shown this once.", with_secret()))
    .not_found("Webhook")
        .conflict(Code::WebhookOfApp.detail())
}

fn with_secret() -> Value {
    examples::with(examples::webhook(), "secret", "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDbGmhWzS6Y6M=")
}

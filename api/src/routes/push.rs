//! `/v1/users/me/push-subscriptions`: where a person is reminded of action items (DECISIONS §3, "push").

use axum::Json;
use outbox::{NewSubscription, SubscriptionKind, TooManySubscriptions};
use records::UserId;
use secrecy::SecretString;
use serde_json::{Value, json};

use super::{answer, path::Ids};
use crate::{
    Answer, AppState, Caller, Code, Endpoint, Error, Reply, Scope, WebPush,
    endpoint::Takes,
    read::{Body, Choice, Fields, Named, Note, Object, RequestSchema, Text, object},
    shapes,
};

const KIND: &str = "Push subscription";

const ALL: &str = "/v1/users/me/push-subscriptions";

pub(super) fn endpoints() -> Vec<Endpoint> {
    let no_web_push = || {
        let words = "The service sends no web push, or is unavailable for the moment.";
        Answer::refusal(503, words, "Web push is not configured").with_header("Retry-After")
    };
    vec![
        Endpoint::get(ALL, Scope::ProfileRead, list)
            .named("list_push_subscriptions", "List push subscriptions")
            .answers(Answer::all::<shapes::PushSubscription>()),
        Endpoint::get("/v1/users/me/push-subscriptions/key", Scope::ProfileRead, key)
            .named("get_push_key", "Read the key for browsers")
            .says("A browser subscribes with it (`applicationServerKey`).")
            .answers(Answer::one::<shapes::PushKey>("The key."))
            .answers(no_web_push()),
        Endpoint::post(ALL, Scope::ProfileWrite, create)
            .named("create_push_subscription", "Subscribe to reminders")
            .says(
                "The same one again is renewed, not doubled. 20 at most. Reminders are posted as \
                 `{type, action_item_id, description, due_at}`.",
            )
            .creates(again)
            .body(
                "NewPushSubscription",
                Takes::new(either(), NEW),
                json!({ "kind": "webhook", "url": "https://example.com/remind" }),
            )
            .answers(Answer::one::<shapes::PushSubscription>("It receives reminders from now on.").leads_to(
                "delete_push_subscription",
                "subscription_id",
                "/id",
            ))
            .conflict("There are 20 push subscriptions already")
            .answers(no_web_push()),
        Endpoint::delete("/v1/users/me/push-subscriptions/{subscription_id}", Scope::ProfileWrite, delete)
            .named("delete_push_subscription", "Unsubscribe from reminders")
            .answers(Answer::one::<shapes::Success>("Deleted."))
            .not_found(KIND),
    ]
}

async fn again(state: AppState, user: UserId, ids: Vec<String>) -> Result<Value, Error> {
    let id = answer::only(&ids)?;
    let all = state.ledger.outbox().subscriptions(&user).await?;
    let found = all.iter().find(|subscription| subscription.id == *id);
    Ok(json!(shapes::subscription(found.ok_or(Error::NotFound(KIND))?)))
}

async fn list(state: AppState, caller: Caller) -> Reply<Vec<shapes::PushSubscription>> {
    let subscriptions = state.ledger.outbox().subscriptions(&caller.user).await?;
    Ok(Json(subscriptions.iter().map(shapes::subscription).collect()))
}

/// GET `…/key`: the public key that a browser subscribes with (`applicationServerKey`).
async fn key(state: AppState) -> Reply<shapes::PushKey> {
    let web_push = state.settings.web_push.as_ref().ok_or(Error::Refused(Code::WebPushUnavailable))?;
    Ok(Json(shapes::push_key(&web_push.public_key)))
}

/// POST: a subscription. The same one again is renewed, not doubled, so a client may send it at every start.
async fn create(state: AppState, caller: Caller, body: Body) -> Reply<shapes::PushSubscription> {
    let new = object(body, |fields| read(fields, &state))?;
    if matches!(new.kind, SubscriptionKind::WebPush { .. }) && state.settings.web_push.is_none() {
        return Err(Error::Refused(Code::WebPushUnavailable));
    }
    match state.ledger.outbox().subscribe(&caller.user, &new).await? {
        Ok(stored) => Ok(Json(shapes::subscription(&stored))),
        Err(TooManySubscriptions) => Err(Error::Refused(Code::TooManySubscriptions)),
    }
}

async fn delete(state: AppState, caller: Caller, Ids(id): Ids<String>) -> answer::Deleted {
    let deleted = state.ledger.outbox().unsubscribe(&caller.user, &id).await?;
    answer::deleted(deleted, KIND)
}

const NEW: &[Note] = &[
    ("kind", "A browser or a webhook.", ""),
    ("endpoint", "Of a browser: its push service's address, an https URL.", ""),
    ("keys", "Of a browser: its keys.", ""),
    ("url", "Of a webhook: an https URL of a public address.", ""),
];

fn either() -> RequestSchema {
    RequestSchema::either(
        "kind",
        vec![
            (
                "webpush",
                "NewBrowserSubscription",
                RequestSchema::of(|fields| read_web_push(fields, |_| true, None)),
            ),
            ("webhook", "NewWebhookSubscription", RequestSchema::of(|fields| read_webhook(fields, |_| true))),
        ],
    )
}

#[derive(Clone, Copy)]
enum Kind {
    WebPush,
    Webhook,
}

/// A browser's `PushSubscription` as it writes itself into JSON, with its `kind`; or a webhook.
fn read(fields: &mut Fields<'_>, state: &AppState) -> Option<NewSubscription> {
    let kinds = Choice::of([("webpush", Kind::WebPush), ("webhook", Kind::Webhook)]);
    let may_call = |url: &str| (state.check_url)(url);
    match fields.required("kind", kinds)? {
        Kind::Webhook => read_webhook(fields, may_call),
        Kind::WebPush => read_web_push(fields, may_call, state.settings.web_push.as_ref()),
    }
}

/// Reads what a webhook's subscription holds besides its kind.
fn read_webhook(fields: &mut Fields<'_>, may_call: impl Fn(&str) -> bool) -> Option<NewSubscription> {
    let url = address(fields, "url", may_call);
    Some(NewSubscription { kind: SubscriptionKind::Webhook, url: url? })
}

/// Reads what a browser's subscription holds besides its kind.
fn read_web_push(
    fields: &mut Fields<'_>,
    may_call: impl Fn(&str) -> bool,
    check: Option<&WebPush>,
) -> Option<NewSubscription> {
    let url = address(fields, "endpoint", may_call);
    let keys = fields.required(
        "keys",
        Named {
            name: "PushKeys",
            words: "The keys of a browser's subscription.",
            notes: &[("p256dh", "Its public key.", ""), ("auth", "Its secret.", "")],
            take: Object(|keys: &mut Fields<'_>| read_keys(keys, check)),
        },
    );
    Some(NewSubscription { kind: keys?, url: url? })
}

fn address(fields: &mut Fields<'_>, name: &'static str, may_call: impl Fn(&str) -> bool) -> Option<String> {
    let url = fields.required(name, Text::between(1, 2_048))?;
    if !may_call(&url) {
        let words = format!("{name} must be an https URL of a public address, without user and password");
        return fields.report.at(name, |report| report.rule(&words));
    }
    Some(url)
}

/// Without a VAPID key nothing can be sent: the caller gets that error instead of those of the fields.
fn read_keys(fields: &mut Fields<'_>, check: Option<&WebPush>) -> Option<SubscriptionKind> {
    let p256dh = fields.required("p256dh", Text::between(1, 200));
    let auth = fields.required("auth", Text::between(1, 200));
    let (p256dh, auth) = (p256dh?, auth?);
    if check.is_some_and(|web_push| !(web_push.check_keys)(&p256dh, &auth)) {
        return fields.report.rule("keys must be those of a browser's push subscription");
    }
    Some(SubscriptionKind::WebPush { p256dh, auth: SecretString::from(auth) })
}

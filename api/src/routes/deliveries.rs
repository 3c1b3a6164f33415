//! `P/webhooks/{id}/…`: what was delivered, what failed, and redelivery.

use axum::Json;
use outbox::{DeliveryPage, Redelivery, TestRefusal, deliveries::recover::RECOVERS_FOR};
use records::UserId;
use serde_json::{Value, json};

use super::{answer, links, path::Ids, webhooks::KIND};
use crate::{
    Answer, Answered, AppState, Caller, Code, Endpoint, Error, Problem, Reply, Scope,
    endpoint::CURSOR,
    read::{Body, Choice, Fields, Instant, Moment, Page, Query, cursor, object, page, query},
    shapes::{self, Words, words},
    takes,
};

pub(super) fn endpoints() -> Vec<Endpoint> {
    vec![
        Endpoint::post("/v1/dev/user/webhooks/{endpoint_id}/test", Scope::WebhooksWrite, test)
            .named("test_webhook", "Test a webhook")
            .says("Writes a `webhook.test` event, which is delivered like any other.")
            .creates(again)
            .answers(Answer::one::<shapes::Delivery>("Being delivered."))
            .not_found(KIND)
            .conflict(Code::WebhookDisabled.detail()),
        Endpoint::get("/v1/dev/user/webhooks/{endpoint_id}/deliveries", Scope::WebhooksRead, list)
            .named("list_webhook_deliveries", "List the deliveries of a webhook")
            .says("Newest first.")
            .query(takes(
                read_page,
                &[
                    ("limit", "Maximum number of results.", "25"),
                    ("offset", "Number of results to skip.", "0"),
                    ("status", "Deliveries of this status.", ""),
                    CURSOR,
                ],
            ))
            .answers(Answer::page::<shapes::Delivery>())
            .not_found(KIND),
        Endpoint::post(
            "/v1/dev/user/webhooks/{endpoint_id}/deliveries/{delivery_id}/redeliver",
            Scope::WebhooksWrite,
            redeliver,
        )
        .named("redeliver_webhook_delivery", "Deliver once more")
        .says("A finished delivery, under its own id.")
        .answers(Answer::one::<shapes::Delivery>("Being delivered again."))
        .not_found(KIND)
        .not_found("Delivery")
        .conflict("Delivery is still under way"),
        Endpoint::post("/v1/dev/user/webhooks/{endpoint_id}/recover", Scope::WebhooksWrite, recover)
            .named("recover_webhook", "Recover a webhook")
            .says(
                "Delivers once more what was given up, each under its own id. What is still being tried goes on as it is, and \
                 what happened while the endpoint was disabled was not written down for it: ask for that by its time. Of tens of \
                 thousands a request reaches a part: repeat it with `next_since` as `since`, until that is null.",
            )
            .body(
                "Recovery",
                takes(read_since, &[("since", "Send what was given up since this moment.", "")]),
                json!({ "since": "2026-11-20T00:00:00Z" }),
            )
            .answers(Answer::one::<shapes::Recovered>("Being delivered again."))
            .not_found(KIND),
    ]
}

/// The answer to a repeat of a test: its delivery as it is now.
async fn again(state: AppState, user: UserId, ids: Vec<String>) -> Result<Value, Error> {
    let endpoint = answer::only(&ids)?;
    let delivery = ids.get(1).map(String::as_str).unwrap_or_default();
    Ok(json!(tested(&state, &user, endpoint, delivery).await?))
}

async fn test(state: AppState, caller: Caller, Ids(endpoint): Ids<String>) -> Reply<shapes::Delivery> {
    let delivery_id = state.ids.fresh().to_string();
    tested(&state, &caller.user, &endpoint, &delivery_id).await.map(Json)
}

/// A test delivery as it is now; one that is not there yet is written.
async fn tested(
    state: &AppState,
    user: &UserId,
    endpoint: &str,
    id: &str,
) -> Result<shapes::Delivery, Error> {
    let written = state.ledger.outbox().test_delivery(user, endpoint, id).await?;
    let written = written.map_err(|refusal| match refusal {
        TestRefusal::Missing => Error::NotFound(KIND),
        TestRefusal::Disabled => Error::Refused(Code::WebhookDisabled),
    })?;
    Ok(shapes::delivery(&written))
}

async fn list(state: AppState, caller: Caller, Ids(endpoint): Ids<String>, parameters: Query) -> Answered {
    let (page, filter) = query(&parameters, read_page)?;
    must_exist(&state, &caller.user, &endpoint).await?;
    let rows = state.ledger.outbox().deliveries(&caller.user, &endpoint, &filter).await?;
    Ok(links::answer(&parameters.uri, page, &rows, shapes::delivery))
}

fn read_page(fields: &mut Fields<'_>) -> Option<(Page, DeliveryPage)> {
    let page = page(fields, 25, 100);
    let status = fields.present(
        "status",
        words::DeliveryStatus::in_request(Choice::of(STATUSES.map(|status| (status, status)))),
    );
    let after = cursor(fields);
    Some((page, DeliveryPage { status, limit: links::one_more(page), offset: page.offset, after }))
}

/// What may have become of a delivery.
const STATUSES: [&str; 5] = ["pending", "sending", "delivered", "exhausted", "cancelled"];

async fn redeliver(
    state: AppState,
    caller: Caller,
    Ids((endpoint, delivery)): Ids<(String, String)>,
) -> Reply<shapes::Delivery> {
    match state.ledger.outbox().redeliver(&caller.user, &endpoint, &delivery).await? {
        Redelivery::Due(again) => Ok(Json(shapes::delivery(&again))),
        Redelivery::UnderWay => Err(Error::Refused(Code::DeliveryUnderWay)),
        Redelivery::Missing => {
            must_exist(&state, &caller.user, &endpoint).await?;
            Err(Error::NotFound("Delivery"))
        }
    }
}

async fn recover(
    state: AppState,
    caller: Caller,
    Ids(endpoint): Ids<String>,
    body: Body,
) -> Reply<shapes::Recovered> {
    let since = object(body, read_since)?;
    must_exist(&state, &caller.user, &endpoint).await?;
    if since.at > state.ledger.db().now().await? {
        let loc = vec!["body".into(), "since".into()];
        return Err(Error::Invalid(vec![Problem::rule(loc, "since must not be in the future")]));
    }
    let recovered = state.ledger.outbox().recover(&caller.user, &endpoint, since.at, RECOVERS_FOR).await?;
    Ok(Json(shapes::recovered(&recovered.ok_or(Error::NotFound(KIND))?)))
}

fn read_since(fields: &mut Fields<'_>) -> Option<Instant> {
    fields.required("since", Moment)
}

async fn must_exist(state: &AppState, user: &UserId, endpoint: &str) -> Result<(), Error> {
    state.ledger.outbox().endpoint(user, endpoint).await?.map(|_| ()).ok_or(Error::NotFound(KIND))
}

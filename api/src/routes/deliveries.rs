//! `P/webhooks/{id}/…`: what was delivered, what failed, and redelivery.

use axum::{Json, extract::State, http::Uri, response::Response};
use outbox::DeliveryPage;
use records::UserId;
use serde_json::{Value, json};

use super::{links, path::Ids, webhooks::KIND};
use crate::{
    Error, Scope,
    door::{Creating, Door},
    error::Code,
    keys::Caller,
    read::{Body, Choice, Fields, Instant, Moment, Page, Problem, Query, cursor, object, page, query},
    shapes,
};

/// POST `…/test`: writes a `webhook.test` delivery, which is sent like any other.
pub(super) async fn test(
    Creating(door): Creating,
    caller: Caller,
    Ids(endpoint): Ids<String>,
) -> Result<Json<Value>, Error> {
    caller.require(Scope::WebhooksWrite)?;
    let delivery_id = door.ids.fresh().to_string();
    tested(&door, &caller.user, &endpoint, &delivery_id).await.map(Json)
}

/// A test delivery as it is now; one that is not there yet is written.
pub(super) async fn tested(door: &Door, user: &UserId, endpoint: &str, id: &str) -> Result<Value, Error> {
    let written = door.ledger.outbox().test_delivery(user, endpoint, id).await?;
    Ok(shapes::delivery(&written.ok_or(Error::NotFound(KIND))?))
}

/// GET `…/deliveries`: a page, newest first.
pub(super) async fn list(
    State(door): State<Door>,
    caller: Caller,
    Ids(endpoint): Ids<String>,
    uri: Uri,
    parameters: Query,
) -> Result<Response, Error> {
    caller.require(Scope::WebhooksRead)?;
    let (page, filter) = query(&parameters, read_page)?;
    must_exist(&door, &caller.user, &endpoint).await?;
    let rows = door.ledger.outbox().deliveries(&caller.user, &endpoint, &filter).await?;
    Ok(links::answer(&uri, page, &rows, shapes::delivery))
}

/// Reads the query of the list.
pub(super) fn read_page(fields: &mut Fields<'_>) -> Option<(Page, DeliveryPage)> {
    let page = page(fields, 25, 100);
    let status = fields.present("status", Choice::of(STATUSES.map(|status| (status, status))));
    let after = cursor(fields);
    Some((page, DeliveryPage { status, limit: links::one_more(page), offset: page.offset, after }))
}

/// What may have become of a delivery.
pub(crate) const STATUSES: [&str; 5] = ["pending", "sending", "delivered", "exhausted", "cancelled"];

/// POST `…/deliveries/{delivery}/redeliver`: a finished delivery once more, under its own id.
pub(super) async fn redeliver(
    State(door): State<Door>,
    caller: Caller,
    Ids((endpoint, delivery)): Ids<(String, String)>,
) -> Result<Json<Value>, Error> {
    caller.require(Scope::WebhooksWrite)?;
    match door.ledger.outbox().redeliver(&caller.user, &endpoint, &delivery).await? {
        Some(Some(again)) => Ok(Json(shapes::delivery(&again))),
        Some(None) => Err(Error::Conflict(Code::DeliveryUnderWay)),
        None => {
            must_exist(&door, &caller.user, &endpoint).await?;
            Err(Error::NotFound("Delivery"))
        }
    }
}

/// POST `…/recover`: everything since a moment that was given up, once more.
pub(super) async fn recover(
    State(door): State<Door>,
    caller: Caller,
    Ids(endpoint): Ids<String>,
    body: Body,
) -> Result<Json<Value>, Error> {
    caller.require(Scope::WebhooksWrite)?;
    let since = object(body, read_since)?;
    must_exist(&door, &caller.user, &endpoint).await?;
    if since.at > door.ledger.db().now().await? {
        let loc = vec!["body".into(), "since".into()];
        return Err(Error::Invalid(vec![Problem::rule(loc, "since must not be in the future")]));
    }
    let recovered = door.ledger.outbox().recover(&caller.user, &endpoint, since.at).await?;
    Ok(Json(json!({ "recovered": recovered.ok_or(Error::NotFound(KIND))? })))
}

/// Reads the body of a recovery.
pub(super) fn read_since(fields: &mut Fields<'_>) -> Option<Instant> {
    fields.required("since", Moment)
}

async fn must_exist(door: &Door, user: &UserId, endpoint: &str) -> Result<(), Error> {
    door.ledger.outbox().endpoint(user, endpoint).await?.map(|_| ()).ok_or(Error::NotFound(KIND))
}

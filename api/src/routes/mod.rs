//! The resources, one file each.

mod action_items;
mod conversations;
mod create;
mod deliveries;
mod described;
mod documents;
mod finalize;
mod folders;
mod geolocation;
mod keys;
mod links;
mod made;
mod memories;
mod path;
mod segments;
mod speakers;
mod tagged;
mod waiting;
mod webhooks;

use axum::{
    Router,
    routing::{delete, get, post},
};

pub(crate) use described::{creating, described};
pub(crate) use documents::Documents;
pub(crate) use made::made;

use crate::door::Door;

/// Every route of the public interface. `P` of the documents is `/v1/dev/user`.
pub(crate) fn all() -> Router<Door> {
    Router::new()
        .route("/v1/dev/user/conversations", get(conversations::list).post(create::from_text))
        .route("/v1/dev/user/conversations/from-segments", post(create::from_segments))
        .route(
            "/v1/dev/user/conversations/{conversation_id}",
            get(conversations::one).patch(conversations::change).delete(conversations::delete),
        )
        .route("/v1/dev/user/conversations/{conversation_id}/segments", post(segments::append))
        .route("/v1/dev/user/action-items", get(action_items::list))
        .route("/v1/dev/user/memories", get(memories::list))
        .route("/v1/dev/user/folders", get(folders::list))
        .route("/v1/dev/user/webhooks", get(webhooks::list).post(webhooks::create))
        .route(
            "/v1/dev/user/webhooks/{endpoint_id}",
            get(webhooks::one).patch(webhooks::change).delete(webhooks::delete),
        )
        .route("/v1/dev/user/webhooks/{endpoint_id}/test", post(deliveries::test))
        .route("/v1/dev/user/webhooks/{endpoint_id}/deliveries", get(deliveries::list))
        .route(
            "/v1/dev/user/webhooks/{endpoint_id}/deliveries/{delivery_id}/redeliver",
            post(deliveries::redeliver),
        )
        .route("/v1/conversations/{conversation_id}/finalize", post(finalize::admit))
        .route("/v1/conversations/{conversation_id}/finalization", get(finalize::poll))
        .route("/v1/dev/keys", get(keys::list).post(keys::create))
        .route("/v1/dev/keys/{key_id}", delete(keys::revoke))
        .route("/v1/dev/key", get(keys::own))
        .route("/openapi.json", get(documents::openapi))
        .route("/v1/dev/openapi.json", get(documents::openapi))
        .route("/docs", get(documents::page))
        .route("/docs/style.css", get(documents::style))
}

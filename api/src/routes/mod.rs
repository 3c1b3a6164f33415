//! The resources, one file each.

mod action_items;
mod answer;
mod app_keys;
mod apps;
mod audio_webhook;
mod byok;
mod conversations;
mod create;
mod deliveries;
#[allow(clippy::indexing_slicing, reason = "describes the routes with literals of this crate")]
mod described;
mod documents;
mod finalize;
mod folders;
mod geolocation;
mod goals;
mod keys;
mod links;
mod listen;
mod location;
mod made;
mod mcp;
mod me;
mod measure;
mod memories;
mod messages;
mod notification;
mod path;
mod people;
mod process;
mod push;
pub(crate) mod run;
mod search;
mod segments;
mod status;
mod tagged;
pub(crate) mod waiting;
mod webhooks;

use axum::{
    Router,
    routing::{delete, get, patch, post},
};

pub(crate) use byok::{NAMED_WITH_KEYS, admitted, ended_with_keys, resume};
pub(crate) use described::{creating, described, patterns};
pub(crate) use documents::{AsItIs, Documents};
pub(crate) use made::{is_shown_anew, made};

use crate::{door::Door, live::page};

/// The internal route at which jobs are delivered.
pub(crate) fn deliveries() -> Router<Door> {
    Router::new().route(run::PATH, post(run::run))
}

/// Every route of the public interface. `P` of the documents is `/v1/dev/user`.
pub(crate) fn all() -> Router<Door> {
    let live = page::FILES.iter().map(|(path, _, _)| *path);
    live.fold(Router::new(), |router, path| router.route(path, get(documents::live)))
        .route("/v1/dev/user/conversations", get(conversations::list).post(create::from_text))
        .route("/v1/dev/user/conversations/from-segments", post(create::from_segments))
        .route(
            "/v1/dev/user/conversations/{conversation_id}",
            get(conversations::one).patch(conversations::change).delete(conversations::delete),
        )
        .route("/v1/dev/user/conversations/{conversation_id}/segments", post(segments::append))
        .route("/v1/dev/user/action-items", get(action_items::list).post(action_items::create))
        .route("/v1/dev/user/action-items/batch", post(action_items::create_batch))
        .route(
            "/v1/dev/user/action-items/{action_item_id}",
            patch(action_items::change).delete(action_items::delete),
        )
        .route("/v1/dev/user/memories", get(memories::list).post(memories::create))
        .route("/v1/dev/user/memories/batch", post(memories::create_batch))
        .route("/v1/dev/user/memories/{memory_id}", patch(memories::change).delete(memories::delete))
        .route("/v1/dev/user/goals", get(goals::list).post(goals::create))
        .route("/v1/dev/user/goals/{goal_id}", get(goals::one).patch(goals::change).delete(goals::delete))
        .route("/v1/dev/user/goals/{goal_id}/progress", patch(goals::progress))
        .route("/v1/dev/user/goals/{goal_id}/history", get(goals::history))
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
        .route("/v1/dev/user/webhooks/{endpoint_id}/recover", post(deliveries::recover))
        .route("/v1/dev/user/webhooks/{endpoint_id}/rotate-secret", post(webhooks::rotate))
        .route("/v1/users/developer/webhook/audio_bytes", get(audio_webhook::one).post(audio_webhook::set))
        .route("/v1/users/developer/webhook/audio_bytes/enable", post(audio_webhook::enable))
        .route("/v1/users/developer/webhook/audio_bytes/disable", post(audio_webhook::disable))
        .route("/v1/dev/user/search", get(search::search))
        .route("/v2/messages", get(messages::list).post(messages::post).delete(messages::clear))
        .route("/mcp", post(mcp::serve))
        .route("/v1/users/me", get(me::show).patch(me::change))
        .route("/v1/users/geolocation", patch(location::note).delete(location::forget))
        .route("/v1/apps", get(apps::list).post(apps::create))
        .route("/v1/apps/enabled", get(apps::enabled))
        .route("/v1/apps/enable", post(apps::enable))
        .route("/v1/apps/disable", post(apps::disable))
        .route("/v1/apps/{app_id}", get(apps::one).patch(apps::change).delete(apps::delete))
        .route("/v1/apps/{app_id}/refresh-manifest", post(apps::refresh))
        .route("/v1/apps/{app_id}/keys", get(app_keys::list).post(app_keys::create))
        .route("/v1/apps/{app_id}/keys/{key_id}", delete(app_keys::revoke))
        .route("/v1/integrations/notification", post(notification::send))
        .route("/v1/users/me/people", get(people::list).post(people::create))
        .route(
            "/v1/users/me/people/{person_id}",
            get(people::one).patch(people::rename).delete(people::delete),
        )
        .route("/v1/users/me/push-subscriptions", get(push::list).post(push::create))
        .route("/v1/users/me/push-subscriptions/key", get(push::key))
        .route("/v1/users/me/push-subscriptions/{subscription_id}", delete(push::delete))
        .route("/v1/conversations", post(process::in_progress))
        .route("/v1/conversations/{conversation_id}/reprocess", post(process::again))
        .route("/v1/conversations/{conversation_id}/finalize", post(finalize::admit))
        .route("/v1/conversations/{conversation_id}/finalization", get(finalize::poll))
        .route("/v4/listen", get(listen::listen))
        .route("/v4/web/listen", get(listen::web_listen))
        .route("/v1/status", get(status::show))
        .route("/v1/dev/keys", get(keys::list).post(keys::create))
        .route("/v1/dev/keys/{key_id}", delete(keys::revoke))
        .route("/v1/dev/key", get(keys::own))
        .route("/openapi.json", get(documents::openapi))
        .route("/v1/dev/openapi.json", get(documents::openapi))
        .route("/asyncapi.json", get(documents::asyncapi))
        .route("/docs", get(documents::page))
        .route("/docs/errors", get(documents::codes))
        .route("/docs/style.css", get(documents::style))
}

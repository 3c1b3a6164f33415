//! What a request created, as it is now: the answer to a repeat of a request whose first answer was lost with its
//! process (DECISIONS §3, "Idempotency-Key").

use axum::{
    Json,
    response::{IntoResponse, Response},
};
use records::{ConversationId, GoalId, UserId};
use serde_json::Value;

use super::{
    action_items, app_keys, apps, create, deliveries, finalize, goals, keys, memories, people, process, push,
    segments, webhooks,
};
use crate::{Error, door::Door, keys::Caller, shapes};

/// What a creating route creates.
#[derive(Clone, Copy, Debug)]
enum Created {
    Conversation,
    Segments,
    ActionItem,
    ActionItems,
    Memory,
    Memories,
    Goal,
    Webhook,
    WebhookTest,
    Key,
    Person,
    PushSubscription,
    App,
    AppKey,
    Finalized,
    Reprocessed,
}

impl Created {
    /// `None`: the route creates nothing that can be answered again.
    fn by(route: &str) -> Option<Self> {
        Some(match route {
            "/v1/dev/user/conversations" | "/v1/dev/user/conversations/from-segments" => Self::Conversation,
            "/v1/dev/user/conversations/{conversation_id}/segments" => Self::Segments,
            "/v1/dev/user/action-items" => Self::ActionItem,
            "/v1/dev/user/action-items/batch" => Self::ActionItems,
            "/v1/dev/user/memories" => Self::Memory,
            "/v1/dev/user/memories/batch" => Self::Memories,
            "/v1/dev/user/goals" => Self::Goal,
            "/v1/dev/user/webhooks" => Self::Webhook,
            "/v1/dev/user/webhooks/{endpoint_id}/test" => Self::WebhookTest,
            "/v1/dev/keys" => Self::Key,
            "/v1/users/me/people" => Self::Person,
            "/v1/users/me/push-subscriptions" => Self::PushSubscription,
            "/v1/apps" => Self::App,
            "/v1/apps/{app_id}/keys" => Self::AppKey,
            "/v1/conversations" | "/v1/conversations/{conversation_id}/finalize" => Self::Finalized,
            "/v1/conversations/{conversation_id}/reprocess" => Self::Reprocessed,
            _ => return None,
        })
    }
}

/// Whether the answers of `route` are not kept, because they hold a whole transcript: a repeat shows the conversation as it
/// is now.
pub(crate) fn is_shown_anew(route: &str) -> bool {
    matches!(Created::by(route), Some(Created::Finalized | Created::Reprocessed))
}

/// The answer that `route` gives for the objects it created.
pub(crate) async fn made(
    door: &Door,
    caller: &Caller,
    route: &str,
    ids: &[String],
) -> Result<Response, Error> {
    let conversation = || ConversationId::new(ids.first().map(String::as_str).unwrap_or_default());
    // A route that is not listed must not pass for one whose conversation was deleted.
    match Created::by(route).ok_or(Error::Unwritable)? {
        Created::Finalized => finalize::present(door, caller, &conversation()).await,
        Created::Reprocessed => process::present(door, caller, &conversation()).await,
        created => Ok(Json(value(door, &caller.user, created, ids).await?).into_response()),
    }
}

async fn value(door: &Door, user: &UserId, created: Created, ids: &[String]) -> Result<Value, Error> {
    let first = ids.first().map(String::as_str).unwrap_or_default();
    match created {
        Created::Finalized | Created::Reprocessed => Err(Error::Unwritable),
        Created::Conversation => create::present(door, user, &ConversationId::new(first)).await,
        Created::Segments => segments::present(door, user, &ConversationId::new(first)).await,
        Created::ActionItem => {
            let found = door.ledger.store().action_items_named(user, ids).await?;
            Ok(shapes::action_item(found.first().ok_or(Error::NotFound(action_items::KIND))?))
        }
        Created::ActionItems => {
            Ok(action_items::batch(&door.ledger.store().action_items_named(user, ids).await?))
        }
        Created::Memory => {
            let found = door.ledger.store().memories_named(user, ids).await?;
            Ok(shapes::memory(found.first().ok_or(Error::NotFound(memories::KIND))?))
        }
        Created::Memories => Ok(memories::batch(&door.ledger.store().memories_named(user, ids).await?)),
        Created::Goal => {
            let found = door.ledger.store().goal(user, &GoalId::new(first)).await?;
            Ok(shapes::goal(&found.ok_or(Error::NotFound(goals::KIND))?))
        }
        Created::Webhook => {
            let found = door.ledger.outbox().endpoint(user, first).await?;
            Ok(shapes::endpoint(&found.ok_or(Error::NotFound(webhooks::KIND))?))
        }
        Created::WebhookTest => {
            let delivery = ids.get(1).map(String::as_str).unwrap_or_default();
            deliveries::tested(door, user, first, delivery).await
        }
        Created::Key => {
            let found = keys::find(door, user, first).await?;
            Ok(shapes::key(&found.ok_or(Error::NotFound(keys::KIND))?))
        }
        Created::App => {
            let found = door.ledger.store().app(user, first).await?;
            Ok(apps::shape(door, user, &found.ok_or(Error::NotFound(apps::KIND))?))
        }
        Created::AppKey => {
            let key = ids.get(1).map(String::as_str).unwrap_or_default();
            app_keys::present(door, user, first, key).await
        }
        Created::Person => {
            let found = door.ledger.store().known_person(user, first).await?;
            Ok(shapes::person(&found.ok_or(Error::NotFound(people::KIND))?))
        }
        Created::PushSubscription => {
            let all = door.ledger.outbox().subscriptions(user).await?;
            let found = all.iter().find(|subscription| subscription.id == first);
            Ok(shapes::subscription(found.ok_or(Error::NotFound(push::KIND))?))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Settings, routes::creating};

    #[test]
    fn every_creating_route_can_be_answered_again_and_no_other_passes_for_a_conversation() {
        for route in creating(&Settings::default()).into_keys() {
            assert!(Created::by(route).is_some(), "{route}");
        }
        assert!(Created::by("/v1/dev/user/folders").is_none());
    }
}

//! What a request made, as it is now: the answer to a repeat of a request whose first answer was lost with its
//! process (DECISIONS §3, "Idempotency-Key").

use records::{ConversationId, GoalId, UserId};
use serde_json::Value;

use super::{
    action_items, app_keys, apps, create, deliveries, goals, keys, memories, people, push, segments, webhooks,
};
use crate::{Error, door::Door, shapes};

/// The answer that `route` gives for the things it made.
pub(crate) async fn made(door: &Door, user: &UserId, route: &str, ids: &[String]) -> Result<Value, Error> {
    let first = ids.first().map(String::as_str).unwrap_or_default();
    match route {
        "/v1/dev/user/webhooks" => {
            let found = door.ledger.endpoint(user, first).await?;
            Ok(shapes::endpoint(&found.ok_or(Error::NotFound(webhooks::KIND))?))
        }
        "/v1/dev/user/webhooks/{endpoint_id}/test" => {
            let delivery = ids.get(1).map(String::as_str).unwrap_or_default();
            deliveries::tested(door, user, first, delivery).await
        }
        "/v1/dev/user/conversations/{conversation_id}/segments" => {
            segments::present(door, user, &ConversationId::new(first)).await
        }
        "/v1/apps" => {
            let found = door.ledger.app(user, first).await?;
            Ok(apps::shape(door, user, &found.ok_or(Error::NotFound(apps::KIND))?))
        }
        "/v1/apps/{app_id}/keys" => {
            let key = ids.get(1).map(String::as_str).unwrap_or_default();
            app_keys::present(door, user, first, key).await
        }
        "/v1/dev/keys" => {
            let found = keys::find(door, user, first).await?;
            Ok(shapes::key(&found.ok_or(Error::NotFound(keys::KIND))?))
        }
        "/v1/dev/user/action-items" => {
            let found = door.ledger.action_items_named(user, ids).await?;
            Ok(shapes::action_item(found.first().ok_or(Error::NotFound(action_items::KIND))?))
        }
        "/v1/dev/user/action-items/batch" => {
            Ok(action_items::batch(&door.ledger.action_items_named(user, ids).await?))
        }
        "/v1/dev/user/memories" => {
            let found = door.ledger.memories_named(user, ids).await?;
            Ok(shapes::memory(found.first().ok_or(Error::NotFound(memories::KIND))?))
        }
        "/v1/dev/user/memories/batch" => Ok(memories::batch(&door.ledger.memories_named(user, ids).await?)),
        "/v1/dev/user/goals" => {
            let found = door.ledger.goal(user, &GoalId::new(first)).await?;
            Ok(shapes::goal(&found.ok_or(Error::NotFound(goals::KIND))?))
        }
        "/v1/users/me/people" => {
            let found = door.ledger.known_person(user, first).await?;
            Ok(shapes::person(&found.ok_or(Error::NotFound(people::KIND))?))
        }
        "/v1/users/me/push-subscriptions" => {
            let all = door.ledger.subscriptions(user).await?;
            let found = all.iter().find(|subscription| subscription.id == first);
            Ok(shapes::subscription(found.ok_or(Error::NotFound(push::KIND))?))
        }
        _ => create::present(door, user, &ConversationId::new(first)).await,
    }
}

//! Which endpoints a completion is delivered to: enabled ones that subscribed, once, and none that were deleted
//! meanwhile.

use job::Outcome;
use ledger::{Finished, NewItem, Results};
use outbox::EndpointChange;
use records::{EventKind, UserId};

use crate::world::{World, completion};

/// Results with an action item, and events for it and for the completion.
fn results() -> Results {
    Results {
        items: vec![NewItem { description: "Call Tom".into(), due_at: None }],
        announcements: vec![EventKind::ConversationCompleted, EventKind::ActionItemCreated],
        ..Results::default()
    }
}

#[tokio::test]
async fn completion_creates_deliveries_for_enabled_subscribed_endpoints() {
    let world = World::new().await;
    let bob = UserId::new("bob");
    world.ledger.store().create_user(&bob, &Default::default()).await.unwrap();
    world.endpoint(&world.ann, "both", EventKind::ALL).await;
    world.endpoint(&world.ann, "items", &[EventKind::ActionItemCreated, EventKind::MemoryCreated]).await;
    world.endpoint(&world.ann, "failures", &[EventKind::ConversationFailed]).await;
    world.endpoint(&world.ann, "off", EventKind::ALL).await;
    world.endpoint(&bob, "both", EventKind::ALL).await;
    let off = EndpointChange { enabled: Some(false), ..EndpointChange::default() };
    world.ledger.outbox().change_endpoint(&world.ann, "off", &off).await.unwrap().unwrap();
    let run = world.claimed("c").await;
    let _before = world.is_woken();
    let finished = world.ledger.complete(&completion(&run, Outcome::Kept, results())).await.unwrap();
    assert_eq!(finished, Finished::Completed { items: 1, memories: 0, deliveries: 3 });
    assert!(world.is_woken());
    let deliveries: Vec<(String, String, String)> =
        world.rows("select user_id, endpoint_id, event from webhook_deliveries order by 1, 2, 3").await;
    let deliveries: Vec<_> =
        deliveries.iter().map(|(user, id, event)| (user.as_str(), id.as_str(), event.as_str())).collect();
    assert_eq!(
        deliveries,
        [
            ("ann", "both", "action_item.created"),
            ("ann", "both", "conversation.completed"),
            ("ann", "items", "action_item.created"),
        ]
    );
}

#[tokio::test]
async fn completion_succeeds_when_an_endpoint_is_deleted_meanwhile() {
    let world = World::new().await;
    world.endpoint(&world.ann, "w", EventKind::ALL).await;
    let run = world.claimed("c").await;
    let request = completion(&run, Outcome::Kept, results());
    let operation = async { world.ledger.complete(&request).await.unwrap() };
    let done = world.database.overtaken_by("delete from webhook_endpoints", operation).await;
    assert_eq!(done, Finished::Completed { items: 1, memories: 0, deliveries: 0 });
    assert!(!world.is_woken());
}

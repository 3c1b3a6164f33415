//! What a subscription's row remembers: since when nothing gets through, and when something last did.

use outbox::{ClaimedPush, DeliveryOutcome, PushPolicy, Pushed, Subscription};
use records::Timestamp;

use crate::{push_strangers::with_pushes, world::World};

const DELIVERED: DeliveryOutcome = DeliveryOutcome::Delivered { status: 201 };
const AGAIN: DeliveryOutcome =
    DeliveryOutcome::Retry { status: Some(503), error: "status", retry_after: None, jitter_permille: 0 };

/// The item, the words and the date of a reminder.
pub(crate) fn reminder(push: &ClaimedPush) -> (&str, &str, Timestamp) {
    match &push.pushed {
        Pushed::Reminder { action_item_id, description, due_at } => {
            (action_item_id.as_str(), description, *due_at)
        }
        Pushed::Message { .. } => panic!("no app writes here"),
    }
}

/// The claims of the two pushes of Ann's `s`.
async fn claim(world: &World) -> Vec<ClaimedPush> {
    let mut claimed = world.ledger.outbox().claim_pushes(9, &PushPolicy::default()).await.unwrap().claimed;
    claimed.retain(|push| push.user_id == world.ann && push.subscription_id == "s");
    assert_eq!(claimed.len(), 2);
    claimed
}

async fn finish(world: &World, claimed: &ClaimedPush, outcome: DeliveryOutcome) {
    assert!(world.ledger.outbox().finish_push(claimed, outcome, &PushPolicy::default()).await.unwrap());
}

async fn s(world: &World) -> Option<Subscription> {
    world.ledger.outbox().subscriptions(&world.ann).await.unwrap().into_iter().find(|one| one.id == "s")
}

#[tokio::test]
async fn a_success_ends_the_days_of_failure_and_what_fails_behind_it_removes_nothing() {
    let world = with_pushes().await;
    world.run("update push_subscriptions set failing_since = now() - interval '6 days'").await;
    let claimed = claim(&world).await;
    finish(&world, &claimed[0], DELIVERED).await;
    let reached = s(&world).await.unwrap();
    assert_eq!(reached.failing_since, None);
    assert!(reached.last_success_at.is_some());
    finish(&world, &claimed[1], AGAIN).await;
    assert!(s(&world).await.is_some());
}

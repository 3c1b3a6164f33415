//! What is tried again waits for its own endpoint, whichever others are switched off.

use outbox::{DeliveryOutcome, DeliveryPolicy};
use records::UserId;
use sqlx::AssertSqlSafe;

use crate::world::World;

/// Of two endpoints with a delivery each, both of which fail, one is switched off during the try: its own delivery
/// waits for it, and no other.
async fn waits_for_its_own(world: &World, endpoints: [(&UserId, &str); 2], disabled: &str) {
    for (user, endpoint) in endpoints {
        world.endpoint(user, endpoint).await;
        world.pending(user, endpoint, 1).await;
    }
    let claimed = world.claim_deliveries(9).await;
    assert_eq!(claimed.len(), 2);
    world
        .database
        .run(&format!(
            "update webhook_endpoints set enabled = false, disabled_reason = 'by_owner' where {disabled}"
        ))
        .await;
    let again =
        DeliveryOutcome::Retry { status: None, error: "timeout", retry_after: None, jitter_permille: 0 };
    for one in &claimed {
        assert!(world.ledger.outbox().finish_delivery(one, again, &DeliveryPolicy::default()).await.unwrap());
    }
    let those = format!("select {disabled} from webhook_deliveries where next_at = 'infinity'");
    let waiting: Vec<bool> = sqlx::query_scalar(AssertSqlSafe(those)).fetch_all(&world.pool).await.unwrap();
    assert_eq!(waiting, [true], "{disabled}");
}

#[tokio::test]
async fn what_is_tried_again_waits_for_its_own_endpoint_of_several() {
    for disabled in ["endpoint_id = 'v'", "endpoint_id = 'w'"] {
        let world = World::new().await;
        waits_for_its_own(&world, [(&world.ann, "v"), (&world.ann, "w")], disabled).await;
    }
}

#[tokio::test]
async fn what_is_tried_again_waits_for_its_own_endpoint_and_for_no_other_of_that_name() {
    for disabled in ["user_id = 'ann'", "user_id = 'bob'"] {
        let world = World::new().await;
        waits_for_its_own(&world, [(&world.ann, "w"), (&world.bob, "w")], disabled).await;
    }
}

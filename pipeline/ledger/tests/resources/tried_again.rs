//! What is tried again waits for its own endpoint, whichever of its owner's others are switched off.

use ledger::{DeliveryOutcome, DeliveryPolicy};

use crate::world::World;

#[tokio::test]
async fn what_is_tried_again_waits_for_its_own_endpoint_of_several() {
    for disabled in ["v", "w"] {
        let world = World::new().await;
        for endpoint in ["v", "w"] {
            world.endpoint(&world.ann, endpoint).await;
            world.pending(&world.ann, endpoint, 1).await;
        }
        let claimed = world.ledger.claim_deliveries(9, &DeliveryPolicy::default()).await.unwrap();
        assert_eq!(claimed.len(), 2);
        sqlx::query(
            "update webhook_endpoints set enabled = false, disabled_reason = 'by_owner' where endpoint_id = $1",
        )
        .bind(disabled)
        .execute(&world.pool)
        .await
        .unwrap();
        let again =
            DeliveryOutcome::Retry { status: None, error: "timeout", retry_after: None, jitter_permille: 0 };
        for one in &claimed {
            assert!(world.ledger.finish_delivery(one, again, &DeliveryPolicy::default()).await.unwrap());
        }
        let waits: Vec<String> =
            sqlx::query_scalar("select endpoint_id from webhook_deliveries where next_at = 'infinity'")
                .fetch_all(&world.pool)
                .await
                .unwrap();
        assert_eq!(waits, [disabled]);
    }
}

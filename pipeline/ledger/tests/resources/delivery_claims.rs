//! Concurrent claims of deliveries: the cap of an endpoint holds across processes, locked rows are skipped, and dead
//! senders do not count.

use ledger::Ledger;
use outbox::{ClaimedDelivery, DeliveryPolicy};
use sqlx::PgConnection;

use crate::world::World;

async fn claim(ledger: &Ledger) -> Vec<ClaimedDelivery> {
    ledger.outbox().claim_deliveries(50, &DeliveryPolicy::default(), None).await.unwrap().claimed
}

fn endpoints(claimed: &[ClaimedDelivery]) -> Vec<&str> {
    claimed.iter().map(|one| one.endpoint_id.as_str()).collect()
}

const SENDING: &str =
    "select count(*) from webhook_deliveries where endpoint_id = 'w' and status = 'sending'";

/// Blocks updates of deliveries for which `when` holds until the returned session's transaction ends.
async fn block_updates(world: &World, when: &str) -> PgConnection {
    let stop = format!(
        "create function stop() returns trigger language plpgsql as \
             $$begin perform pg_advisory_xact_lock(1); return new; end$$; \
         create trigger stop before update on webhook_deliveries for each row when ({when}) \
             execute function stop()"
    );
    world.database.run(&stop).await;
    world.database.hold_locks("select pg_advisory_xact_lock(1)").await
}

#[tokio::test]
async fn concurrent_claims_do_not_exceed_the_endpoint_cap() {
    let world = World::new().await;
    world.endpoint(&world.ann, "w").await;
    world.pending(&world.ann, "w", 4).await;
    // The first claim has counted, and stops while it updates.
    let mut holder = block_updates(&world, "new.delivery_id = 'w_3'").await;
    let first = tokio::spawn({
        let ledger = world.other_process();
        async move { claim(&ledger).await }
    });
    world.database.until_somebody_waits().await;
    // Deliveries of earlier events are committed only now: the second process sees them before all others.
    world
        .run(
            "insert into webhook_deliveries (user_id, endpoint_id, delivery_id, event, status, next_at, occurred_at) \
             select 'ann', 'w', 'earlier_' || n, 'conversation.completed', 'pending', now() - interval '1 hour', now() \
             from generate_series(1, 4) n",
        )
        .await;
    let second = claim(&world.ledger).await;
    sqlx::raw_sql("rollback").execute(&mut holder).await.unwrap();
    assert_eq!(first.await.unwrap().len(), 4);
    assert_eq!(endpoints(&second), Vec::<&str>::new(), "the first claim's count is not known yet");
    assert_eq!(world.count(SENDING).await, 4);
}

#[tokio::test]
async fn claim_deliveries_skips_locked_endpoints() {
    let world = World::new().await;
    for id in ["w", "calm"] {
        world.endpoint(&world.ann, id).await;
        world.pending(&world.ann, id, 1).await;
    }
    let held = "select from webhook_endpoints where endpoint_id = 'w' for update";
    let mut holder = world.database.hold_locks(held).await;
    assert_eq!(endpoints(&claim(&world.ledger).await), ["calm"]);
    sqlx::raw_sql("rollback").execute(&mut holder).await.unwrap();
    assert_eq!(endpoints(&claim(&world.ledger).await), ["w"]);
}

#[tokio::test]
async fn dead_senders_do_not_count_against_the_endpoint_cap() {
    let world = World::new().await;
    world.endpoint(&world.ann, "w").await;
    world.pending(&world.ann, "w", 6).await;
    assert_eq!(claim(&world.ledger).await.len(), 4, "the cap of one endpoint");
    world
        .run("update webhook_deliveries set sending_until = now() - interval '1 second' where status = 'sending'")
        .await;
    assert_eq!(claim(&world.ledger).await.len(), 4, "dead senders do not count");
    assert_eq!(claim(&world.ledger).await.len(), 0);
}

#[tokio::test]
async fn claim_skips_a_locked_delivery_that_is_to_be_given_up() {
    let world = World::new().await;
    for id in ["w", "calm"] {
        world.endpoint(&world.ann, id).await;
        world.pending(&world.ann, id, 1).await;
    }
    world
        .run(
            "update webhook_deliveries set status = 'sending', next_at = null, tries = 99, \
                 sending_until = now() - interval '1 second' where endpoint_id = 'w'",
        )
        .await;
    let held = "select from webhook_deliveries where endpoint_id = 'w' for update";
    let mut holder = world.database.hold_locks(held).await;
    assert_eq!(endpoints(&claim(&world.ledger).await), ["calm"]);
    sqlx::raw_sql("rollback").execute(&mut holder).await.unwrap();
    assert_eq!(endpoints(&claim(&world.ledger).await), Vec::<&str>::new());
    assert_eq!(world.count("select count(*) from webhook_deliveries where status = 'exhausted'").await, 1);
}

#[tokio::test]
async fn dead_senders_at_a_full_endpoint_do_not_delay_others() {
    let world = World::new().await;
    world.endpoint(&world.ann, "w").await;
    world.pending(&world.ann, "w", 4).await;
    assert_eq!(claim(&world.ledger).await.len(), 4, "it is full");
    world
        .run(
            "insert into webhook_deliveries (user_id, endpoint_id, delivery_id, event, status, sending_until, epoch, tries, \
                 occurred_at) \
             select 'ann', 'w', 'died_' || n, 'conversation.completed', 'sending', now() - interval '1 hour', 1, 1, now() \
             from generate_series(1, 20) n",
        )
        .await;
    world.endpoint(&world.ann, "calm").await;
    world.pending(&world.ann, "calm", 1).await;
    let claimed = world.claim_deliveries(1).await;
    assert_eq!(endpoints(&claimed), ["calm"]);
}

#[tokio::test]
async fn claim_leaves_deliveries_changed_between_read_and_lock() {
    let world = World::new().await;
    world.endpoint(&world.ann, "w").await;
    world.pending(&world.ann, "w", 2).await;
    world
        .run(
            "update webhook_deliveries set status = 'sending', next_at = null, sending_until = now() - interval '1 second' \
                 where delivery_id = 'w_1'",
        )
        .await;
    // The claim has read what is due, and stops where it postpones a delivery of another endpoint.
    world.endpoint(&world.ann, "shut").await;
    world.pending(&world.ann, "shut", 1).await;
    world
        .run("update webhook_endpoints set open_until = now() + interval '1 minute' where endpoint_id = 'shut'")
        .await;
    let mut faster = block_updates(&world, "new.endpoint_id = 'shut'").await;
    let slower = tokio::spawn({
        let ledger = world.other_process();
        async move { claim(&ledger).await }
    });
    world.database.until_somebody_waits().await;
    let moved = "update webhook_deliveries set next_at = now() + interval '1 hour' where delivery_id = 'w_0'; \
        update webhook_deliveries set sending_until = now() + interval '1 minute', epoch = epoch + 1 \
            where delivery_id = 'w_1'; \
        commit";
    sqlx::raw_sql(moved).execute(&mut faster).await.unwrap();
    assert_eq!(endpoints(&slower.await.unwrap()), Vec::<&str>::new());
}

#[tokio::test]
async fn claim_deliveries_skips_locked_deliveries() {
    let world = World::new().await;
    world.endpoint(&world.ann, "w").await;
    world.pending(&world.ann, "w", 2).await;
    let held = "select from webhook_deliveries where delivery_id = 'w_0' for update";
    let mut holder = world.database.hold_locks(held).await;
    let claimed = claim(&world.ledger).await;
    assert_eq!((claimed.len(), claimed[0].delivery_id.as_str()), (1, "w_1"));
    sqlx::raw_sql("rollback").execute(&mut holder).await.unwrap();
    assert_eq!(claim(&world.ledger).await[0].delivery_id, "w_0");
}

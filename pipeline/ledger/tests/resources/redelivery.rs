//! Redelivery of one delivery, and the operators' view of deliveries.

use db::After;
use operations::{ActionFilter, delivery_subject};
use outbox::{DeliveryPage, Redelivery};

use crate::world::{World, olga};

/// Ann's endpoint with a delivery in each status, created a minute apart.
async fn with_deliveries() -> World {
    let world = World::new().await;
    world.endpoint(&world.ann, "w").await;
    world
        .run(
            "insert into webhook_deliveries (user_id, endpoint_id, delivery_id, event, status, next_at, tries, epoch, \
                 last_status, finished_at, occurred_at, created_at) \
             select 'ann', 'w', status, 'conversation.completed', status, \
                 case when status = 'pending' then 'infinity'::timestamptz end, 11, 11, 500, \
                 case when status <> 'pending' then now() end, now(), now() - n * interval '1 minute' \
             from unnest(array['delivered', 'exhausted', 'cancelled', 'pending']) with ordinality d (status, n)",
        )
        .await;
    world
}

#[tokio::test]
async fn redeliver_for_operator_makes_it_due_and_is_audited() {
    let world = with_deliveries().await;
    let again = async |delivery: &str| {
        world.operations().redeliver_for_operator(&world.ann, "w", delivery, &olga()).await.unwrap()
    };
    assert!(matches!(again("exhausted").await, Redelivery::Due(_)));
    assert_eq!(again("exhausted").await, Redelivery::UnderWay, "a repeat is refused");
    assert_eq!(again("pending").await, Redelivery::UnderWay);
    assert_eq!(again("nothing").await, Redelivery::Missing);
    let line = world.ledger.outbox().delivery(&world.ann, "w", "exhausted").await.unwrap().unwrap();
    assert_eq!((line.status.as_str(), line.tries, line.epoch, line.parked), ("pending", 0, 11, false));
    let claimed = world.claim_deliveries(9).await;
    assert_eq!(claimed.len(), 1);

    assert_eq!(delivery_subject("w", "exhausted"), "w/exhausted");
    let about = Some((world.ann.clone(), "w/exhausted".to_owned()));
    let filter = ActionFilter { about, limit: 9, ..ActionFilter::default() };
    let actions = world.operations().actions(&filter).await.unwrap();
    assert_eq!(actions.len(), 1);
    assert_eq!((actions[0].action.as_str(), actions[0].operator.as_str()), ("redeliver_webhook", "olga"));
    assert_eq!(actions[0].reason, "their outage is over");
    let all = ActionFilter { limit: 9, ..ActionFilter::default() };
    assert_eq!(world.operations().actions(&all).await.unwrap().len(), 1, "a refusal is not recorded");
}

#[tokio::test]
async fn deliveries_are_paged_and_filtered_by_status() {
    let world = with_deliveries().await;
    let page = async |asked: DeliveryPage| {
        let found = world.ledger.outbox().deliveries(&world.ann, "w", &asked).await.unwrap();
        let ids: Vec<String> = found.iter().map(|line| line.id.clone()).collect();
        let after = |last: &outbox::DeliveryView| After {
            created_at: last.created_at,
            position: 0,
            id: last.id.clone(),
        };
        (ids, found.last().map(after))
    };
    let (first, after) = page(DeliveryPage::first(3)).await;
    assert_eq!(first, ["delivered", "exhausted", "cancelled"]);
    let (second, _) = page(DeliveryPage { after, ..DeliveryPage::first(3) }).await;
    assert_eq!(second, ["pending"]);
    let (given_up, _) = page(DeliveryPage { status: Some("exhausted"), ..DeliveryPage::first(3) }).await;
    assert_eq!(given_up, ["exhausted"]);
    let waiting = world.ledger.outbox().delivery(&world.ann, "w", "pending").await.unwrap().unwrap();
    assert!(waiting.parked && waiting.next_at.is_none(), "it waits for its endpoint");
    assert!(
        world.ledger.outbox().deliveries(&world.bob, "w", &DeliveryPage::first(9)).await.unwrap().is_empty()
    );
}

#[tokio::test]
async fn redeliver_finds_the_delivery_of_its_own_endpoint_only() {
    let world = with_deliveries().await;
    for (user, endpoint) in [(&world.ann, "empty"), (&world.bob, "w")] {
        world.endpoint(user, endpoint).await;
        let none = world.ledger.outbox().redeliver(user, endpoint, "exhausted").await.unwrap();
        assert_eq!(none, Redelivery::Missing, "{user} has no such delivery at {endpoint}");
    }
    assert_eq!(world.count("select count(*) from webhook_deliveries where tries <> 11").await, 0);
}

#[tokio::test]
async fn concurrent_redeliveries_make_it_due_once() {
    let world = with_deliveries().await;
    let due = "update webhook_deliveries set status = 'pending', tries = 0, finished_at = null, \
        next_at = 'infinity' where delivery_id = 'exhausted'";
    let operation = async { world.ledger.outbox().redeliver(&world.ann, "w", "exhausted").await.unwrap() };
    let slower = world.database.overtaken_by(due, operation).await;
    assert!(matches!(slower, Redelivery::UnderWay), "it is under way by then");
    let parked =
        "select count(*) from webhook_deliveries where delivery_id = 'exhausted' and next_at = 'infinity'";
    assert_eq!(world.count(parked).await, 1, "and it stays as the other process left it");
}

#[tokio::test]
async fn redeliver_locks_its_endpoint() {
    let world = with_deliveries().await;
    let held = "select from webhook_deliveries where delivery_id = 'exhausted' for update";
    let mut holder = world.database.hold_locks(held).await;
    let (ledger, ann) = (world.ledger.clone(), world.ann.clone());
    let operation =
        tokio::spawn(async move { ledger.outbox().redeliver(&ann, "w", "exhausted").await.unwrap() });
    world.database.until_somebody_waits().await;
    let free =
        sqlx::raw_sql("select from webhook_endpoints for no key update nowait").execute(&world.pool).await;
    assert!(free.is_err(), "it is held");
    sqlx::raw_sql("rollback").execute(&mut holder).await.unwrap();
    assert!(matches!(operation.await.unwrap(), Redelivery::Due(_)));
}

#[tokio::test]
async fn redelivered_delivery_is_parked_only_if_its_own_endpoint_is_disabled() {
    for (disabled, parked) in [("w", true), ("v", false)] {
        let world = with_deliveries().await;
        world.endpoint(&world.ann, "v").await;
        let change = outbox::EndpointChange { enabled: Some(false), ..Default::default() };
        world.ledger.outbox().change_endpoint(&world.ann, disabled, &change).await.unwrap().unwrap();
        world.ledger.outbox().redeliver(&world.ann, "w", "exhausted").await.unwrap();
        let line = world.ledger.outbox().delivery(&world.ann, "w", "exhausted").await.unwrap().unwrap();
        assert_eq!(line.parked, parked, "{disabled} is disabled");
    }
}

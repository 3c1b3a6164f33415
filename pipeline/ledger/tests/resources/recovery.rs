//! What an owner asks of an endpoint that was down: everything once more, and another secret.

use outbox::{DeliveryOutcome, DeliveryPolicy};
use secrecy::{ExposeSecret, SecretString};

use crate::world::World;

/// Ann's endpoint with seven deliveries: delivered, given up today and long ago, cancelled, of a conversation that is
/// there and of one that is gone, and pending.
async fn with_history() -> World {
    let world = World::new().await;
    world.endpoint(&world.ann, "w").await;
    world.endpoint(&world.ann, "other").await;
    world.conversation(&world.ann, "there", "completed", 0).await;
    world
        .run(
            "insert into webhook_deliveries (user_id, endpoint_id, delivery_id, event, conversation_id, status, next_at, \
                 tries, finished_at, occurred_at) \
             select 'ann', endpoint, id, 'conversation.completed', conversation, status, \
                 case when status = 'pending' then 'infinity'::timestamptz end, 11, \
                 case when status <> 'pending' then now() end, now() - days * interval '1 day' \
             from (values ('w', 'delivered', 'there', 'delivered', 1), ('w', 'lost', 'there', 'exhausted', 1), \
                 ('w', 'test', null, 'exhausted', 1), ('w', 'gone', 'there', 'cancelled', 1), \
                 ('w', 'deleted', 'nowhere', 'cancelled', 1), ('w', 'old', 'there', 'exhausted', 9), \
                 ('w', 'waiting', 'there', 'pending', 1), ('other', 'lost', 'there', 'exhausted', 1)) \
                 d (endpoint, id, conversation, status, days)",
        )
        .await;
    world
}

async fn since(world: &World) -> records::Timestamp {
    world.ledger.db().now().await.unwrap() - chrono::TimeDelta::days(2)
}

#[tokio::test]
async fn all_that_did_not_get_through_since_a_moment_is_due_again() {
    let world = with_history().await;
    let since = since(&world).await;
    assert_eq!(world.ledger.outbox().recover(&world.bob, "w", since).await.unwrap(), None);
    assert_eq!(world.ledger.outbox().recover(&world.ann, "nothing", since).await.unwrap(), None);
    assert_eq!(world.ledger.outbox().recover(&world.ann, "w", since).await.unwrap(), Some(3));
    let claimed = world.claim_deliveries(9).await;
    let mut ids: Vec<&str> = claimed.iter().map(|one| one.delivery_id.as_str()).collect();
    ids.sort_unstable();
    assert_eq!(ids, ["gone", "lost", "test"]);
    assert!(claimed.iter().all(|one| one.try_number == 1 && one.endpoint_id == "w"));
    assert_eq!(
        world.ledger.outbox().recover(&world.ann, "w", since).await.unwrap(),
        Some(0),
        "they are under way"
    );
}

#[tokio::test]
async fn what_got_through_is_not_recovered_because_somebody_elses_of_that_name_did_not() {
    let world = World::new().await;
    for user in [&world.ann, &world.bob] {
        world.endpoint(user, "w").await;
    }
    world
        .run(
            "insert into webhook_deliveries (user_id, endpoint_id, delivery_id, event, status, finished_at, occurred_at) \
             select u, 'w', id, 'conversation.completed', status, now() + wait, now() \
             from (values ('ann', 'a', 'exhausted', interval '0'), ('ann', 'b', 'delivered', '0'), \
                 ('bob', 'a', 'delivered', '0'), ('bob', 'b', 'exhausted', '0'), \
                 ('ann', 'given up since', 'exhausted', '1 hour')) d (u, id, status, wait)",
        )
        .await;
    assert_eq!(world.ledger.outbox().recover(&world.ann, "w", since(&world).await).await.unwrap(), Some(1));
    let due: Vec<String> = world
        .list("select user_id || ' ' || delivery_id from webhook_deliveries where status = 'pending'")
        .await;
    assert_eq!(due, ["ann a"], "nor is what ended after it began");
}

#[tokio::test]
async fn at_a_disabled_endpoint_they_wait_for_it() {
    let world = with_history().await;
    let set = async |enabled| {
        let change = outbox::EndpointChange { enabled: Some(enabled), ..Default::default() };
        world.ledger.outbox().change_endpoint(&world.ann, "w", &change).await.unwrap().unwrap();
    };
    set(false).await;
    assert_eq!(world.ledger.outbox().recover(&world.ann, "w", since(&world).await).await.unwrap(), Some(3));
    let claim = async || world.claim_deliveries(9).await.len();
    assert_eq!(claim().await, 0);
    set(true).await;
    assert_eq!(claim().await, 4, "with the one that waited already");
}

#[tokio::test]
async fn more_than_a_transaction_may_hold_is_recovered_in_batches() {
    let world = World::new().await;
    world.endpoint(&world.ann, "w").await;
    world
        .run(
            "insert into webhook_deliveries (user_id, endpoint_id, delivery_id, event, status, finished_at, occurred_at) \
             select 'ann', 'w', 'd' || n, 'conversation.completed', 'exhausted', now(), now() \
             from generate_series(1, 2500) n",
        )
        .await;
    assert_eq!(
        world.ledger.outbox().recover(&world.ann, "w", since(&world).await).await.unwrap(),
        Some(2_500)
    );
}

#[tokio::test]
async fn what_is_recovered_is_held_in_one_order_by_everybody() {
    let world = World::new().await;
    world.endpoint(&world.ann, "w").await;
    world
        .run(
            "insert into webhook_deliveries (user_id, endpoint_id, delivery_id, event, status, finished_at, occurred_at) \
             select 'ann', 'w', d, 'conversation.completed', 'exhausted', now(), now() \
             from unnest(array['b', 'c', 'a']) d",
        )
        .await;
    let since = since(&world).await;
    let mut holder =
        world.database.hold_locks("select from webhook_deliveries where delivery_id = 'a' for update").await;
    let recover = async { world.ledger.outbox().recover(&world.ann, "w", since).await.unwrap() };
    let look = async {
        world.database.until_somebody_waits().await;
        let free = "select count(*) from (select from webhook_deliveries for update skip locked) d";
        let free = world.count(free).await;
        sqlx::raw_sql("rollback").execute(&mut holder).await.unwrap();
        free
    };
    assert_eq!(tokio::join!(recover, look), (Some(3), 2), "of one moment, by their ids");
}

#[tokio::test]
async fn a_replaced_secret_signs_beside_its_successor_for_a_day() {
    let world = World::new().await;
    world.endpoint(&world.ann, "w").await;
    world.pending(&world.ann, "w", 1).await;
    let new = SecretString::from("whsec_bmV3");
    assert_eq!(world.ledger.outbox().rotate_secret(&world.bob, "w", &new).await.unwrap(), None);
    world.ledger.outbox().rotate_secret(&world.ann, "w", &new).await.unwrap().unwrap();
    assert_eq!(secrets(&world).await, ("whsec_bmV3".to_owned(), Some("whsec_c2VjcmV0".to_owned())));
    world.run("update webhook_endpoints set previous_secret_until = now() - interval '1 second'").await;
    assert_eq!(secrets(&world).await, ("whsec_bmV3".to_owned(), None));
}

/// What the one delivery of `w` would be signed with: the secret, and the one before.
async fn secrets(world: &World) -> (String, Option<String>) {
    let claimed = world.claim_deliveries(1).await.remove(0);
    let again = DeliveryOutcome::Final { status: None, error: "status" };
    world.ledger.outbox().finish_delivery(&claimed, again, &DeliveryPolicy::default()).await.unwrap();
    world.ledger.outbox().redeliver(&world.ann, "w", &claimed.delivery_id).await.unwrap();
    let previous = claimed.previous_secret.as_ref().map(|secret| secret.expose_secret().to_owned());
    (claimed.secret.expose_secret().to_owned(), previous)
}

#[tokio::test]
async fn what_receivers_have_signs_for_its_day_also_where_a_secret_is_replaced_twice() {
    let world = World::new().await;
    world.endpoint(&world.ann, "w").await;
    world.pending(&world.ann, "w", 1).await;
    let rotate = async |secret: &str| {
        world
            .ledger
            .outbox()
            .rotate_secret(&world.ann, "w", &SecretString::from(secret))
            .await
            .unwrap()
            .unwrap();
    };
    let pair = |new: &str, previous: &str| (new.to_owned(), Some(previous.to_owned()));
    rotate("whsec_bG9zdA==").await;
    world
        .run(
            "update webhook_endpoints set previous_secret_until = previous_secret_until - interval '9 hours'",
        )
        .await;
    rotate("whsec_bmV3").await;
    assert_eq!(
        secrets(&world).await,
        pair("whsec_bmV3", "whsec_c2VjcmV0"),
        "nobody may have got the one between"
    );
    let day = "select count(*) from webhook_endpoints where previous_secret_until \
        between now() + interval '14 hours' and now() + interval '15 hours'";
    assert_eq!(world.count(day).await, 1, "and no longer than its day");
    world.run("update webhook_endpoints set previous_secret_until = now() - interval '1 second'").await;
    rotate("whsec_bmV3ZXI=").await;
    assert_eq!(secrets(&world).await, pair("whsec_bmV3ZXI=", "whsec_bmV3"), "its day is over");
}

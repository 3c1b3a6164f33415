//! What an owner does after an outage of an endpoint: recover its deliveries, and rotate its secret.

use std::time::Duration;

use outbox::{DeliveryOutcome, DeliveryPolicy};
use secrecy::{ExposeSecret, SecretString};

use crate::world::World;

/// Ann's endpoint with seven deliveries: delivered, given up recently and long ago, cancelled, of an existing and of
/// a deleted conversation, and pending.
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
async fn recover_makes_failed_deliveries_since_a_time_due_again() {
    let world = with_history().await;
    let since = since(&world).await;
    assert_eq!(world.recover(&world.bob, "w", since).await, None);
    assert_eq!(world.recover(&world.ann, "nothing", since).await, None);
    assert_eq!(world.recover(&world.ann, "w", since).await, Some(3));
    let claimed = world.claim_deliveries(9).await;
    let mut ids: Vec<&str> = claimed.iter().map(|one| one.delivery_id.as_str()).collect();
    ids.sort_unstable();
    assert_eq!(ids, ["gone", "lost", "test"]);
    assert!(claimed.iter().all(|one| one.try_number == 1 && one.endpoint_id == "w"));
    assert_eq!(world.recover(&world.ann, "w", since).await, Some(0), "they are being sent");
}

#[tokio::test]
async fn recover_leaves_delivered_ones_whose_id_failed_elsewhere() {
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
    assert_eq!(world.recover(&world.ann, "w", since(&world).await).await, Some(1));
    let due: Vec<String> = world
        .list("select user_id || ' ' || delivery_id from webhook_deliveries where status = 'pending'")
        .await;
    assert_eq!(due, ["ann a"], "nor one that failed after the start");
}

#[tokio::test]
async fn recovered_deliveries_of_a_disabled_endpoint_wait_for_it() {
    let world = with_history().await;
    let set = async |enabled| {
        let change = outbox::EndpointChange { enabled: Some(enabled), ..Default::default() };
        world.ledger.outbox().change_endpoint(&world.ann, "w", &change).await.unwrap().unwrap();
    };
    set(false).await;
    assert_eq!(world.recover(&world.ann, "w", since(&world).await).await, Some(3));
    let claim = async || world.claim_deliveries(9).await.len();
    assert_eq!(claim().await, 0);
    set(true).await;
    assert_eq!(claim().await, 4, "with the one that waited already");
}

#[tokio::test]
async fn recover_works_in_batches() {
    let world = World::new().await;
    world.endpoint(&world.ann, "w").await;
    world
        .run(
            "insert into webhook_deliveries (user_id, endpoint_id, delivery_id, event, status, finished_at, occurred_at) \
             select 'ann', 'w', 'd' || n, 'conversation.completed', 'exhausted', now(), now() \
             from generate_series(1, 2500) n",
        )
        .await;
    assert_eq!(world.recover(&world.ann, "w", since(&world).await).await, Some(2_500));
}

/// A request for very many would be given up before it is answered.
#[tokio::test]
async fn recover_answers_in_time_and_goes_on_when_it_is_asked_again() {
    let world = World::new().await;
    world.endpoint(&world.ann, "w").await;
    world
        .run(
            "insert into webhook_deliveries (user_id, endpoint_id, delivery_id, event, status, finished_at, occurred_at) \
             select 'ann', 'w', 'd' || n, 'conversation.completed', 'exhausted', now(), now() + n * interval '1 ms' \
             from generate_series(1, 1500) n",
        )
        .await;
    let (mut since, mut recovered) = (Some(since(&world).await), Vec::new());
    while let Some(from) = since {
        let answer =
            world.ledger.outbox().recover(&world.ann, "w", from, Duration::ZERO).await.unwrap().unwrap();
        // What is reached is refused at once.
        world.run("update webhook_deliveries set status = 'exhausted', finished_at = now() where status = 'pending'").await;
        recovered.push(answer.deliveries);
        since = answer.next;
    }
    assert_eq!(recovered, [1_000, 501], "the last of the first part is where the second one begins");
}

#[tokio::test]
async fn recover_locks_deliveries_in_one_order() {
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
    let recover = async { world.recover(&world.ann, "w", since).await };
    let count_unlocked = async {
        world.database.until_somebody_waits().await;
        let free = "select count(*) from (select from webhook_deliveries for update skip locked) d";
        let free = world.count(free).await;
        sqlx::raw_sql("rollback").execute(&mut holder).await.unwrap();
        free
    };
    assert_eq!(tokio::join!(recover, count_unlocked), (Some(3), 2), "in the order of their ids");
}

#[tokio::test]
async fn rotated_secret_signs_beside_the_new_one_for_a_day() {
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

/// The secrets that the one delivery of `w` would be signed with: the current and the previous.
async fn secrets(world: &World) -> (String, Option<String>) {
    let claimed = world.claim_deliveries(1).await.remove(0);
    let again = DeliveryOutcome::Final { status: None, error: "status" };
    world.ledger.outbox().finish_delivery(&claimed, again, &DeliveryPolicy::default()).await.unwrap();
    world.ledger.outbox().redeliver(&world.ann, "w", &claimed.delivery_id).await.unwrap();
    let previous = claimed.previous_secret.as_ref().map(|secret| secret.expose_secret().to_owned());
    (claimed.secret.expose_secret().to_owned(), previous)
}

#[tokio::test]
async fn previous_secret_is_kept_for_its_day_when_rotated_twice() {
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
        "receivers may not have the one in between"
    );
    let day = "select count(*) from webhook_endpoints where previous_secret_until \
        between now() + interval '14 hours' and now() + interval '15 hours'";
    assert_eq!(world.count(day).await, 1, "and no longer than its day");
    world.run("update webhook_endpoints set previous_secret_until = now() - interval '1 second'").await;
    rotate("whsec_bmV3ZXI=").await;
    assert_eq!(secrets(&world).await, pair("whsec_bmV3ZXI=", "whsec_bmV3"), "its day is over");
}

//! A place is known for 30 minutes.

use std::time::Duration;

use operations::Operations;
use records::{Geolocation, Timestamp};

use crate::world::World;

fn location(latitude: f64) -> Geolocation {
    Geolocation { latitude, longitude: 13.4, address: None, google_place_id: None, location_type: None }
}

#[tokio::test]
async fn a_place_is_known_for_29_minutes_and_not_for_31_and_saying_it_again_renews_it() {
    let world = World::new().await;
    world.ledger.store().note_location(&world.bob, &location(1.0), None).await.unwrap();
    world.run("update user_locations set noted_at = noted_at - interval '29 minutes'").await;
    assert_eq!(world.ledger.store().location(&world.bob).await.unwrap(), Some(location(1.0)));
    assert_eq!(world.ledger.store().location(&world.ann).await.unwrap(), None, "another user's");
    world.run("update user_locations set noted_at = noted_at - interval '2 minutes'").await;
    assert_eq!(world.ledger.store().location(&world.bob).await.unwrap(), None);
    assert!(
        world.ledger.store().note_location(&world.bob, &location(1.0), None).await.unwrap(),
        "also when nothing changed"
    );
    assert_eq!(world.ledger.store().location(&world.bob).await.unwrap(), Some(location(1.0)));
}

#[tokio::test]
async fn an_old_place_is_forgotten_and_not_only_ignored() {
    let world = World::new().await;
    world.ledger.store().note_location(&world.bob, &location(1.0), None).await.unwrap();
    world.ledger.store().note_location(&world.ann, &location(2.0), None).await.unwrap();
    world
        .run("update user_locations set noted_at = noted_at - interval '31 minutes' where user_id = 'bob'")
        .await;
    let (_, pruned) = Operations::new(&world.ledger).prune(Duration::from_secs(86_400), 100).await;
    pruned.unwrap();
    assert_eq!(world.count("select count(*) from user_locations").await, 1);
}

#[tokio::test]
async fn an_older_note_never_takes_the_place_of_a_newer_one() {
    let world = World::new().await;
    let now: Timestamp = world.ledger.db().now().await.unwrap();
    world.ledger.store().note_location(&world.bob, &location(2.0), None).await.unwrap();
    let before = now - chrono::TimeDelta::minutes(10);
    assert!(!world.ledger.store().note_location(&world.bob, &location(1.0), Some(before)).await.unwrap());
    assert_eq!(world.ledger.store().location(&world.bob).await.unwrap(), Some(location(2.0)));
}

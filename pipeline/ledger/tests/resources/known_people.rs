//! The people whom a user knows.

use crate::world::{World, said};

#[tokio::test]
async fn a_known_person_is_ones_own_and_names_a_speaker_while_known() {
    let world = World::new().await;
    let tom = world.ledger.store().know_person(&world.ann, "p1", "Tom").await.unwrap();
    assert_eq!((tom.id.as_str(), tom.name.as_str()), ("p1", "Tom"));
    assert_eq!(world.ledger.store().known_person(&world.ann, "p1").await.unwrap(), Some(tom));
    assert_eq!(world.ledger.store().known_person(&world.bob, "p1").await.unwrap(), None);

    let talk = world.conversation(&world.ann, "c", "in_progress", 0).await;
    let segment = records::Segment { person_id: Some("p1".into()), ..said(None, "SPEAKER_01", "Hi.", 0.0) };
    world.ledger.store().append_segments(&world.ann, &talk, &[segment]).await.unwrap().unwrap();
    let named =
        async || world.ledger.store().conversation(&world.ann, &talk, true).await.unwrap().unwrap().people;
    assert_eq!(named().await, [("p1".to_owned(), "Tom".to_owned())]);
    assert_eq!(world.ledger.store().rename_person(&world.bob, "p1", "Eve").await.unwrap(), None);
    assert_eq!(
        world.ledger.store().rename_person(&world.ann, "p1", "Thomas").await.unwrap().unwrap().name,
        "Thomas"
    );
    assert_eq!(named().await, [("p1".to_owned(), "Thomas".to_owned())]);

    assert!(!world.ledger.store().forget_person(&world.bob, "p1").await.unwrap());
    assert!(world.ledger.store().forget_person(&world.ann, "p1").await.unwrap());
    assert!(!world.ledger.store().forget_person(&world.ann, "p1").await.unwrap());
    assert_eq!(named().await, []);
}

#[tokio::test]
async fn known_people_come_newest_first_in_pages() {
    let world = World::new().await;
    for id in ["p1", "p2", "p3"] {
        world.ledger.store().know_person(&world.ann, id, id).await.unwrap();
    }
    world.ledger.store().know_person(&world.bob, "p4", "Somebody else's").await.unwrap();
    let ids = async |limit, offset| {
        let people = world.ledger.store().known_people(&world.ann, limit, offset).await.unwrap();
        people.into_iter().map(|person| person.id).collect::<Vec<_>>()
    };
    assert_eq!(ids(9, 0).await, ["p3", "p2", "p1"]);
    assert_eq!(ids(1, 1).await, ["p2"]);
}

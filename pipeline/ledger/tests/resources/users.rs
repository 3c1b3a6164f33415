//! Users, their keys and first folders, and the people they know.

use chrono::TimeDelta;
use records::{FolderId, UserId};
use store::{NewKey, UserChange};

use crate::world::{World, nine, segment};

#[tokio::test]
async fn user_is_created_once_with_three_folders() {
    let world = World::new().await;
    assert!(
        !world.ledger.store().create_user(&world.ann, &UserChange::default()).await.unwrap(),
        "the id is taken"
    );
    let ann = world.ledger.store().user(&world.ann).await.unwrap().unwrap();
    assert_eq!(
        (ann.name.as_deref(), ann.time_zone.as_str(), ann.language.as_str()),
        (Some("ANN"), "UTC", "en")
    );
    let folders = world.ledger.store().folders(&world.ann).await.unwrap();
    let names: Vec<_> = folders.iter().map(|folder| folder.name.as_str()).collect();
    assert_eq!(names, ["Work", "Personal", "Social"]);
    assert!(
        folders.iter().all(|folder| folder.description.is_some()),
        "automatic filing goes by the description"
    );
    assert!(world.ledger.store().has_folder(&world.ann, &folders[0].id).await.unwrap());
    assert!(
        !world.ledger.store().has_folder(&world.bob, &folders[0].id).await.unwrap(),
        "another user's folder"
    );
    assert!(!world.ledger.store().has_folder(&world.ann, &FolderId::new("none")).await.unwrap());
}

#[tokio::test]
async fn change_user_keeps_unnamed_fields() {
    let world = World::new().await;
    let change = UserChange {
        time_zone: Some("Europe/Berlin".into()),
        apps: Some(vec!["minutes".into()]),
        ..UserChange::default()
    };
    let ann = world.ledger.change_user(&world.ann, &change).await.unwrap().unwrap();
    assert_eq!(ann.name.as_deref(), Some("ANN"));
    assert_eq!(ann.time_zone, "Europe/Berlin");
    assert_eq!(ann.apps, ["minutes"]);
    assert_eq!(world.ledger.store().user(&world.ann).await.unwrap(), Some(ann));
    assert_eq!(world.ledger.change_user(&UserId::new("unknown"), &change).await.unwrap(), None);
    let bob = world.ledger.store().user(&world.bob).await.unwrap().unwrap();
    assert_eq!(bob.time_zone, "UTC");
}

fn key(id: &str, byte: u8, expires_at: Option<records::Timestamp>) -> NewKey {
    NewKey {
        id: id.into(),
        name: "laptop".into(),
        prefix: "lsk_ab…yz".into(),
        sha256: [byte; 32],
        scopes: vec!["conversations:read".into()],
        expires_at,
    }
}

#[tokio::test]
async fn key_is_valid_until_revoked_or_expired() {
    let world = World::new().await;
    assert!(world.ledger.store().create_key(&world.ann, &key("k1", 1, None)).await.unwrap());
    assert!(!world.ledger.store().create_key(&UserId::new("unknown"), &key("k2", 2, None)).await.unwrap());
    assert!(
        world
            .ledger
            .store()
            .create_key(&world.ann, &key("old", 3, Some(nine(0) - TimeDelta::days(9_000))))
            .await
            .unwrap()
    );
    let owner = world.ledger.store().key_owner(&[1; 32]).await.unwrap().unwrap();
    assert_eq!((owner.user_id, owner.key_id.as_str()), (world.ann.clone(), "k1"));
    assert_eq!((owner.scopes, owner.expires_at), (vec!["conversations:read".to_owned()], None));
    let end = Some(nine(0) + TimeDelta::days(90_000));
    assert!(world.ledger.store().create_key(&world.bob, &key("ends", 4, end)).await.unwrap());
    assert_eq!(world.ledger.store().key_owner(&[4; 32]).await.unwrap().unwrap().expires_at, end);
    assert_eq!(world.ledger.store().key_owner(&[3; 32]).await.unwrap(), None, "expired");
    assert_eq!(world.ledger.store().key_owner(&[9; 32]).await.unwrap(), None, "unknown");

    assert!(!world.ledger.store().revoke_key(&world.bob, "k1").await.unwrap(), "another user's key");
    assert!(world.ledger.store().revoke_key(&world.ann, "k1").await.unwrap());
    assert!(!world.ledger.store().revoke_key(&world.ann, "k1").await.unwrap(), "revoked already");
    assert_eq!(world.ledger.store().key_owner(&[1; 32]).await.unwrap(), None);
    let keys = world.ledger.store().keys(&world.ann).await.unwrap();
    assert_eq!(keys.iter().map(|key| key.id.as_str()).collect::<Vec<_>>(), ["old", "k1"], "newest first");
    assert!(keys[1].revoked_at.is_some());
    assert_eq!(world.ledger.store().keys(&world.bob).await.unwrap().len(), 1, "Bob's own");
}

#[tokio::test]
async fn key_use_is_recorded_at_most_once_a_minute() {
    let world = World::new().await;
    world.ledger.store().create_key(&world.ann, &key("k1", 1, None)).await.unwrap();
    let used = async || world.ledger.store().keys(&world.ann).await.unwrap()[0].last_used_at;
    assert_eq!(used().await, None);
    world.ledger.store().key_owner(&[1; 32]).await.unwrap();
    let first = used().await.expect("the first use is noted");
    world.ledger.store().key_owner(&[1; 32]).await.unwrap();
    assert_eq!(used().await, Some(first), "a second use within the minute writes nothing");
    world.run("update developer_keys set last_used_at = last_used_at - interval '2 minutes'").await;
    world.ledger.store().key_owner(&[1; 32]).await.unwrap();
    assert!(used().await.unwrap() >= first);
}

#[tokio::test]
async fn person_belongs_to_one_user_and_names_speakers_until_forgotten() {
    let world = World::new().await;
    let tom = world.ledger.store().know_person(&world.ann, "p1", "Tom").await.unwrap();
    assert_eq!((tom.id.as_str(), tom.name.as_str()), ("p1", "Tom"));
    assert_eq!(world.ledger.store().known_person(&world.ann, "p1").await.unwrap(), Some(tom));
    assert_eq!(world.ledger.store().known_person(&world.bob, "p1").await.unwrap(), None);

    let conversation = world.conversation(&world.ann, "c", "in_progress", 0).await;
    let segment =
        records::Segment { person_id: Some("p1".into()), ..segment(None, "SPEAKER_01", "Hi.", 0.0) };
    world.ledger.store().append_segments(&world.ann, &conversation, &[segment]).await.unwrap().unwrap();
    let named = async || {
        world.ledger.store().conversation(&world.ann, &conversation, true).await.unwrap().unwrap().people
    };
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
async fn people_are_paged_newest_first() {
    let world = World::new().await;
    for id in ["p1", "p2", "p3"] {
        world.ledger.store().know_person(&world.ann, id, id).await.unwrap();
    }
    world.ledger.store().know_person(&world.bob, "p4", "Another user's").await.unwrap();
    let ids = async |limit, offset| {
        let people = world.ledger.store().known_people(&world.ann, limit, offset).await.unwrap();
        people.into_iter().map(|person| person.id).collect::<Vec<_>>()
    };
    assert_eq!(ids(9, 0).await, ["p3", "p2", "p1"]);
    assert_eq!(ids(1, 1).await, ["p2"]);
}

//! Users, their keys and folders.

use chrono::TimeDelta;
use records::{FolderId, UserId};
use store::{NewKey, UserChange};

use crate::world::{World, nine};

#[tokio::test]
async fn a_person_is_created_once_and_has_three_folders() {
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
        "another person's folder"
    );
    assert!(!world.ledger.store().has_folder(&world.ann, &FolderId::new("none")).await.unwrap());
}

#[tokio::test]
async fn a_change_leaves_what_it_does_not_name() {
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
    assert_eq!(world.ledger.change_user(&UserId::new("nobody"), &change).await.unwrap(), None);
    let bob = world.ledger.store().user(&world.bob).await.unwrap().unwrap();
    assert_eq!(bob.time_zone, "UTC");
}

#[tokio::test]
async fn marking_a_person_parks_the_persons_queued_jobs_and_nobody_elses() {
    let world = World::new().await;
    world
        .run(
            "insert into finalization_jobs (user_id, job_id, conversation_id, revision, origin, queue, status, \
                 ready_at, requires_keys, force_process, admitted_at, reconcile_after_at, created_at, updated_at) \
             select u, 'fj_' || u, 'c', 1, 'finalize', 'finalization', 'queued', now(), false, false, now(), \
                 now() + interval '5 minutes', now(), now() \
             from unnest(array['ann', 'bob']) u",
        )
        .await;
    let mark = UserChange { requires_byok: Some(true), ..UserChange::default() };
    assert!(world.ledger.change_user(&world.ann, &mark).await.unwrap().unwrap().requires_byok);
    let jobs: Vec<(String, String, bool)> =
        world.rows("select user_id, status, requires_keys from finalization_jobs order by user_id").await;
    assert_eq!(jobs[0], ("ann".into(), "blocked_byok".into(), true));
    assert_eq!(jobs[1], ("bob".into(), "queued".into(), false));
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
async fn a_key_works_until_it_is_revoked_or_expires() {
    let world = World::new().await;
    assert!(world.ledger.store().create_key(&world.ann, &key("k1", 1, None)).await.unwrap());
    assert!(!world.ledger.store().create_key(&UserId::new("nobody"), &key("k2", 2, None)).await.unwrap());
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

    assert!(!world.ledger.store().revoke_key(&world.bob, "k1").await.unwrap(), "another person's key");
    assert!(world.ledger.store().revoke_key(&world.ann, "k1").await.unwrap());
    assert!(!world.ledger.store().revoke_key(&world.ann, "k1").await.unwrap(), "revoked already");
    assert_eq!(world.ledger.store().key_owner(&[1; 32]).await.unwrap(), None);
    let keys = world.ledger.store().keys(&world.ann).await.unwrap();
    assert_eq!(keys.iter().map(|key| key.id.as_str()).collect::<Vec<_>>(), ["old", "k1"], "newest first");
    assert!(keys[1].revoked_at.is_some());
    assert_eq!(world.ledger.store().keys(&world.bob).await.unwrap().len(), 1, "Bob's own");
}

#[tokio::test]
async fn the_use_of_a_key_is_noted_at_most_once_a_minute() {
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

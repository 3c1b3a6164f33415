//! Lookup of API keys: the owner, and the recorded use, also of concurrent lookups.

use ledger::{Ledger, Settings};
use records::UserId;
use store::{KeyOwner, NewKey};

use crate::world::World;

fn key(id: &str, byte: u8) -> NewKey {
    NewKey {
        id: id.into(),
        name: "laptop".into(),
        prefix: "lsk_ab…yz".into(),
        sha256: [byte; 32],
        scopes: vec![format!("scope {byte}")],
        expires_at: None,
    }
}

/// Ann's keys `k` (hash of ones) and `l` (twos), and Bob's `k` (threes).
async fn with_keys() -> World {
    let world = World::new().await;
    for (user, key) in [(&world.ann, key("k", 1)), (&world.ann, key("l", 2)), (&world.bob, key("k", 3))] {
        assert!(world.ledger.store().create_key(user, &key).await.unwrap());
    }
    world
}

async fn owner(world: &World, byte: u8) -> Option<KeyOwner> {
    world.ledger.store().key_owner(&[byte; 32]).await.unwrap()
}

fn assert_owner(owner: Option<KeyOwner>, user: &UserId, id: &str, byte: u8) {
    let scopes = vec![format!("scope {byte}")];
    assert_eq!(owner, Some(KeyOwner { user_id: user.clone(), key_id: id.into(), scopes, expires_at: None }));
}

#[tokio::test]
async fn concurrent_lookups_return_each_keys_owner() {
    let world = with_keys().await;
    let (one, two, three, unknown) =
        tokio::join!(owner(&world, 1), owner(&world, 2), owner(&world, 3), owner(&world, 9));
    assert_owner(one, &world.ann, "k", 1);
    assert_owner(two, &world.ann, "l", 2);
    assert_owner(three, &world.bob, "k", 3);
    assert_eq!(unknown, None);
}

#[tokio::test]
async fn key_use_is_recorded_for_that_key_only() {
    let world = with_keys().await;
    owner(&world, 1).await.unwrap();
    let used: Vec<String> = world
        .list("select user_id || ' ' || key_id from developer_keys where last_used_at is not null")
        .await;
    assert_eq!(used, ["ann k"]);
}

#[tokio::test]
async fn revoke_key_revokes_no_other() {
    let world = with_keys().await;
    assert!(world.ledger.store().revoke_key(&world.ann, "k").await.unwrap());
    assert_eq!(owner(&world, 1).await, None);
    assert_owner(owner(&world, 2).await, &world.ann, "l", 2);
    assert_owner(owner(&world, 3).await, &world.bob, "k", 3);
}

#[tokio::test]
async fn key_use_recorded_by_another_process_is_not_recorded_again() {
    let world = with_keys().await;
    // Keys can be read, and their use cannot be recorded.
    let mut holder = world.database.hold_locks("lock table developer_keys in share mode").await;
    let ledger = world.ledger.clone();
    let found = tokio::spawn(async move { ledger.store().key_owner(&[1; 32]).await.unwrap() });
    world.database.until_somebody_waits().await;
    sqlx::raw_sql(
        "update developer_keys set last_used_at = clock_timestamp() - interval '59 seconds'; commit",
    )
    .execute(&mut holder)
    .await
    .unwrap();
    assert_owner(found.await.unwrap(), &world.ann, "k", 1);
    let older =
        "select count(*) from developer_keys where last_used_at < clock_timestamp() - interval '50 seconds'";
    assert_eq!(world.count(older).await, 3);
}

#[tokio::test]
async fn key_lookup_does_not_wait_for_a_locked_key() {
    let world = with_keys().await;
    let mut holder = world.database.hold_locks("select from developer_keys for update").await;
    tokio::select! {
        found = owner(&world, 1) => assert_owner(found, &world.ann, "k", 1),
        () = world.database.until_somebody_waits() => panic!("it waits"),
    }
    sqlx::raw_sql("rollback").execute(&mut holder).await.unwrap();
}

#[tokio::test]
async fn key_use_is_recorded_with_synchronous_commit_off() {
    let world = with_keys().await;
    world
        .run(
            "create function is_hasty() returns trigger language plpgsql as $$ begin \
                 assert current_setting('synchronous_commit') = 'off'; return new; end $$; \
             create trigger is_hasty before update on developer_keys for each row execute function is_hasty()",
        )
        .await;
    let options = world.database.options().options([("synchronous_commit", "on")]);
    let ledger = Ledger::new(options, Settings::default());
    assert_owner(ledger.store().key_owner(&[1; 32]).await.unwrap(), &world.ann, "k", 1);
    let recorded = "select count(*) from developer_keys where last_used_at is not null";
    assert_eq!(world.count(recorded).await, 1);
}

#[tokio::test]
async fn key_lookup_works_on_a_read_only_server() {
    let world = with_keys().await;
    world
        .run(
            "create function refuse() returns trigger language plpgsql as $$ begin \
                 raise sqlstate '25006' using message = 'cannot execute UPDATE in a read-only transaction'; end $$; \
             create trigger refuse before update on developer_keys for each row execute function refuse()",
        )
        .await;
    assert_owner(owner(&world, 1).await, &world.ann, "k", 1);
    assert_owner(owner(&world, 3).await, &world.bob, "k", 3);
}

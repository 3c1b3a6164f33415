//! Limits per user: twenty endpoints and a hundred live keys, also under concurrent creates.

use db::{Repeat, RequestKey};
use outbox::{EndpointRefusal, NewEndpoint};
use records::{EventKind, UserId, WebhookFormat};
use secrecy::SecretString;
use store::{KeyRefusal, NewKey};

use crate::world::World;

fn endpoint() -> NewEndpoint {
    NewEndpoint {
        force: true,
        id: "new".to_owned(),
        url: "https://example.com/new".to_owned(),
        events: vec![EventKind::ConversationCompleted],
        format: WebhookFormat::Full,
        secret: SecretString::from("whsec_00"),
    }
}

/// Disabled endpoints `e{from}` to `e{to}`.
fn endpoints(of: &str, from: u32, to: u32) -> String {
    format!(
        "insert into webhook_endpoints (user_id, endpoint_id, url, events, secret, enabled, disabled_reason) \
         select '{of}', 'e' || n, 'https://example.com', '{{}}', 'whsec', false, 'by_owner' \
         from generate_series({from}, {to}) n"
    )
}

#[tokio::test]
async fn endpoints_are_limited_to_twenty_per_user() {
    let world = World::new().await;
    world.database.run(&endpoints("bob", 1, 20)).await;
    assert_eq!(
        world.ledger.outbox().create_endpoint(&world.bob, &endpoint()).await.unwrap(),
        Err(EndpointRefusal::TooMany)
    );
    assert!(world.ledger.outbox().create_endpoint(&world.ann, &endpoint()).await.unwrap().is_ok());
    assert!(world.ledger.outbox().delete_endpoint(&world.bob, "e7").await.unwrap());
    assert!(world.ledger.outbox().create_endpoint(&world.bob, &endpoint()).await.unwrap().is_ok());
}

#[tokio::test]
async fn concurrent_endpoint_creates_keep_to_the_limit() {
    let world = World::new().await;
    world.database.run(&endpoints("ann", 1, 19)).await;
    let twentieth =
        format!("select from users where user_id = 'ann' for no key update; {}", endpoints("ann", 20, 20));
    let operation = async { world.ledger.outbox().create_endpoint(&world.ann, &endpoint()).await.unwrap() };
    let done = world.database.overtaken_by(&twentieth, operation).await;
    assert_eq!(done, Err(EndpointRefusal::TooMany));
    assert_eq!(world.count("select count(*) from webhook_endpoints").await, 20);
}

fn key() -> NewKey {
    NewKey {
        id: "new".to_owned(),
        name: "laptop".to_owned(),
        prefix: "lsk_ab…yz".to_owned(),
        sha256: [9; 32],
        scopes: vec!["keys:write".to_owned()],
        expires_at: None,
    }
}

/// Live keys `k{from}` to `k{to}`.
fn keys(of: &str, from: u32, to: u32) -> String {
    format!(
        "insert into developer_keys (user_id, key_id, name, key_prefix, key_sha256, scopes) \
         select '{of}', 'k' || n, 'k', 'k', sha256(('{of}' || n)::bytea), '{{}}' from generate_series({from}, {to}) n"
    )
}

#[tokio::test]
async fn keys_are_limited_to_a_hundred_per_user_but_not_for_operators() {
    let world = World::new().await;
    world.database.run(&keys("bob", 1, 100)).await;
    assert_eq!(world.ledger.store().add_key(&world.bob, &key()).await.unwrap(), Err(KeyRefusal::TooMany));
    assert_eq!(world.ledger.store().add_key(&world.ann, &key()).await.unwrap(), Ok(()));
    let unknown = world.ledger.store().add_key(&UserId::new("unknown"), &key()).await.unwrap();
    assert_eq!(unknown, Err(KeyRefusal::NoSuchPerson));
    assert!(world.ledger.store().create_key(&world.bob, &NewKey { sha256: [8; 32], ..key() }).await.unwrap());
}

#[tokio::test]
async fn revoked_keys_do_not_count_against_the_limit() {
    let world = World::new().await;
    world.database.run(&keys("bob", 1, 100)).await;
    world.database.run("update developer_keys set revoked_at = now()").await;
    assert_eq!(world.ledger.store().add_key(&world.bob, &key()).await.unwrap(), Ok(()));
}

#[tokio::test]
async fn expired_keys_do_not_count_against_the_limit() {
    let world = World::new().await;
    world.database.run(&keys("bob", 1, 100)).await;
    world.run("update developer_keys set expires_at = now() - interval '1 second'").await;
    assert_eq!(world.ledger.store().add_key(&world.bob, &key()).await.unwrap(), Ok(()));
}

#[tokio::test]
async fn concurrent_key_creates_keep_to_the_limit() {
    let world = World::new().await;
    world.database.run(&keys("ann", 1, 99)).await;
    let hundredth =
        format!("select from users where user_id = 'ann' for no key update; {}", keys("ann", 100, 100));
    let operation = async { world.ledger.store().add_key(&world.ann, &key()).await.unwrap() };
    let done = world.database.overtaken_by(&hundredth, operation).await;
    assert_eq!(done, Err(KeyRefusal::TooMany));
}

#[tokio::test]
async fn creating_a_key_prunes_all_but_100_revoked_or_expired_keys() {
    let world = World::new().await;
    for of in ["ann", "bob"] {
        world.database.run(&keys(of, 1, 106)).await;
    }
    // The lower the number, the older; the oldest of all is live.
    world
        .run(
            "update developer_keys set created_at = now() - interval '1 day' + substr(key_id, 2)::integer * interval '1 s', \
                 revoked_at = case when key_id <> 'k1' and key_id < 'k5' then now() end, \
                 expires_at = case when key_id >= 'k5' then now() - interval '1 s' end",
        )
        .await;
    world.ledger.store().add_key(&world.ann, &key()).await.unwrap().unwrap();
    let kept = world.ledger.store().keys(&world.ann).await.unwrap();
    let ids: Vec<&str> = kept.iter().map(|key| key.id.as_str()).collect();
    let expected: Vec<String> = (7..=106).rev().map(|number| format!("k{number}")).collect();
    assert_eq!(ids[0], "new");
    assert_eq!(ids[1..101], expected);
    assert_eq!(ids[101..], ["k1"], "it works: of 105 that do not, 5 are pruned");
    assert_eq!(world.ledger.store().keys(&world.bob).await.unwrap().len(), 106);
}

#[tokio::test]
async fn stored_answer_of_a_pruned_key_is_forgotten() {
    let world = World::new().await;
    let name = RequestKey {
        user: world.ann.clone(),
        route: "/v1/keys".to_owned(),
        key: "n".to_owned(),
        fingerprint: [1; 32],
    };
    let oldest = NewKey { id: "oldest".to_owned(), ..key() };
    world.ledger.under_key(name.clone()).store().add_key(&world.ann, &oldest).await.unwrap().unwrap();
    world.ledger.db().store_answer(&name, Some((201, "{}"))).await.unwrap();
    world.database.run(&keys("ann", 1, 100)).await;
    world
        .run(
            "update developer_keys set revoked_at = now(), \
                 created_at = created_at - case key_id when 'oldest' then interval '1 day' else '0' end",
        )
        .await;
    let repeat = async || world.ledger.db().repeat_of(&name).await.unwrap();
    let answered = Repeat::Answered { status: 201, answer: "{}".to_owned() };
    assert_eq!(repeat().await, Some(answered));
    let one_more = NewKey { sha256: [8; 32], ..key() };
    world.ledger.store().add_key(&world.ann, &one_more).await.unwrap().unwrap();
    assert_eq!(repeat().await, Some(Repeat::Made(vec!["oldest".to_owned()])));
}

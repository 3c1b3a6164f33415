//! What a person may have so many of: twenty endpoints and a hundred live keys, each their own, also of two that are made at
//! once.

use ledger::{EventKind, KeyRefusal, NewEndpoint, NewKey, TooManyEndpoints, WebhookFormat};
use records::UserId;
use secrecy::SecretString;

use crate::world::World;

fn endpoint() -> NewEndpoint {
    NewEndpoint {
        id: "new".to_owned(),
        url: "https://example.com/new".to_owned(),
        events: vec![EventKind::ConversationCompleted],
        format: WebhookFormat::Full,
        secret: SecretString::from("whsec_00"),
    }
}

/// So many endpoints, which are switched off.
fn endpoints(of: &str, from: u32, to: u32) -> String {
    format!(
        "insert into webhook_endpoints (user_id, endpoint_id, url, events, secret, enabled, disabled_reason) \
         select '{of}', 'e' || n, 'https://example.com', '{{}}', 'whsec', false, 'by_owner' \
         from generate_series({from}, {to}) n"
    )
}

#[tokio::test]
async fn a_person_has_twenty_endpoints_and_somebody_elses_are_not_counted() {
    let world = World::new().await;
    world.database.run(&endpoints("bob", 1, 20)).await;
    assert_eq!(world.ledger.create_endpoint(&world.bob, &endpoint()).await.unwrap(), Err(TooManyEndpoints));
    assert!(world.ledger.create_endpoint(&world.ann, &endpoint()).await.unwrap().is_ok());
    assert!(world.ledger.delete_endpoint(&world.bob, "e7").await.unwrap());
    assert!(world.ledger.create_endpoint(&world.bob, &endpoint()).await.unwrap().is_ok());
}

#[tokio::test]
async fn whose_endpoint_is_made_while_another_is_counts_after_it() {
    let world = World::new().await;
    world.database.run(&endpoints("ann", 1, 19)).await;
    let twentieth =
        format!("select from users where user_id = 'ann' for no key update; {}", endpoints("ann", 20, 20));
    let verb = async { world.ledger.create_endpoint(&world.ann, &endpoint()).await.unwrap() };
    let done = world.database.overtaken_by(&twentieth, verb).await;
    assert_eq!(done, Err(TooManyEndpoints));
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

/// So many live keys.
fn keys(of: &str, from: u32, to: u32) -> String {
    format!(
        "insert into developer_keys (user_id, key_id, name, key_prefix, key_sha256, scopes) \
         select '{of}', 'k' || n, 'k', 'k', sha256(('{of}' || n)::bytea), '{{}}' from generate_series({from}, {to}) n"
    )
}

#[tokio::test]
async fn a_person_has_a_hundred_live_keys_and_an_operator_may_make_more() {
    let world = World::new().await;
    world.database.run(&keys("bob", 1, 100)).await;
    assert_eq!(world.ledger.add_key(&world.bob, &key()).await.unwrap(), Err(KeyRefusal::TooMany));
    assert_eq!(world.ledger.add_key(&world.ann, &key()).await.unwrap(), Ok(()));
    let nobody = world.ledger.add_key(&UserId::new("nobody"), &key()).await.unwrap();
    assert_eq!(nobody, Err(KeyRefusal::NoSuchPerson));
    assert!(world.ledger.create_key(&world.bob, &NewKey { sha256: [8; 32], ..key() }).await.unwrap());
}

#[tokio::test]
async fn a_key_that_was_revoked_counts_no_more() {
    let world = World::new().await;
    world.database.run(&keys("bob", 1, 100)).await;
    world.database.run("update developer_keys set revoked_at = now()").await;
    assert_eq!(world.ledger.add_key(&world.bob, &key()).await.unwrap(), Ok(()));
}

#[tokio::test]
async fn whose_key_is_made_while_another_is_counts_after_it() {
    let world = World::new().await;
    world.database.run(&keys("ann", 1, 99)).await;
    let hundredth =
        format!("select from users where user_id = 'ann' for no key update; {}", keys("ann", 100, 100));
    let verb = async { world.ledger.add_key(&world.ann, &key()).await.unwrap() };
    let done = world.database.overtaken_by(&hundredth, verb).await;
    assert_eq!(done, Err(KeyRefusal::TooMany));
}

//! Each person's own twenty endpoints, also of two that are made at once.

use ledger::{EventKind, NewEndpoint, TooManyEndpoints, WebhookFormat};
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
    let mut holder = world.database.holding(&twentieth).await;
    let (ledger, ann) = (world.ledger.clone(), world.ann.clone());
    let verb = tokio::spawn(async move { ledger.create_endpoint(&ann, &endpoint()).await.unwrap() });
    world.database.until_somebody_waits().await;
    sqlx::raw_sql("commit").execute(&mut holder).await.unwrap();
    assert_eq!(verb.await.unwrap(), Err(TooManyEndpoints));
    assert_eq!(world.count("select count(*) from webhook_endpoints").await, 20);
}

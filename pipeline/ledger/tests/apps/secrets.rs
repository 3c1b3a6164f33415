//! Secrets of webhooks, subscriptions and apps are stored encrypted if there is a key, and decrypted wherever they
//! are used.

use db::Secrets;
use operations::{Operations, Resealed, SealedSecrets};
use outbox::{DeliveryPolicy, NewEndpoint, NewSubscription, PushPolicy, SubscriptionKind};
use records::{EventKind, WebhookFormat};
use secrecy::{ExposeSecret, SecretString};

use crate::world::{APP, MCP_TOKEN, World, process};

/// 32 bytes each, in base64.
const FIRST: &str = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=";
const SECOND: &str = "YWJjZGVmZ2hpamtsbW5vcHFyc3R1dnd4eXphYmNkZWY=";
const MARK: &str = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDbGmhWzS6Y6M=";

fn secrets(keys: &str) -> Secrets {
    Secrets::new(&SecretString::from(keys)).unwrap()
}

impl World {
    /// Stores one secret of each kind, all of them Bob's but the app's.
    async fn with_secrets(&self) {
        self.app().await;
        let endpoint = NewEndpoint {
            force: true,
            id: "e".to_owned(),
            url: "https://hook.example/".to_owned(),
            events: vec![EventKind::ConversationCompleted],
            format: WebhookFormat::Full,
            secret: SecretString::from(MARK),
        };
        self.ledger.outbox().create_endpoint(&self.bob, &endpoint).await.unwrap().unwrap();
        self.ledger.outbox().rotate_secret(&self.bob, "e", &SecretString::from(MARK)).await.unwrap();
        let auth = SecretString::from("BTBZMqHH6r4Tts7J_aSIgg");
        let kind = SubscriptionKind::WebPush { p256dh: "key".to_owned(), auth };
        let new = NewSubscription { kind, url: "https://push.example/".to_owned() };
        self.ledger.outbox().subscribe(&self.bob, &new).await.unwrap().unwrap();
    }

    async fn stored(&self) -> String {
        sqlx::query_scalar(
            "select string_agg(t, ' ') from (select secret || coalesce(previous_secret, '') as t from webhook_endpoints \
                 union all select auth from push_subscriptions union all select secret || mcp_token from apps) s",
        )
        .fetch_one(&self.pool)
        .await
        .unwrap()
    }

    /// Whether a process with these keys can use every secret.
    async fn can_decrypt_all(&self, keys: Secrets) -> bool {
        let ledger = process(&self.database, keys);
        self.run("update webhook_deliveries set status = 'pending', next_at = clock_timestamp(), sending_until = null").await;
        let nth = self.count("select count(*) from webhook_deliveries").await;
        ledger.outbox().test_delivery(&self.bob, "e", &format!("msg_{nth}")).await.unwrap().unwrap();
        let claimed =
            ledger.outbox().claim_deliveries(10, &DeliveryPolicy::default(), None).await.unwrap().claimed;
        let app = ledger.store().installed_app(&self.bob, APP).await.unwrap().unwrap();
        let token = ledger.store().app_mcp_token(&self.ann, APP).await;
        let is_open = |token: &SecretString| token.expose_secret() == MCP_TOKEN;
        !claimed.is_empty()
            && token.is_ok_and(|token| token.as_ref().is_some_and(is_open))
            && app.mcp_token.as_ref().is_some_and(is_open)
            && claimed.iter().all(|one| {
                one.secret.expose_secret() == MARK
                    && one.previous_secret.as_ref().is_some_and(|secret| secret.expose_secret() == MARK)
            })
            && app.secret.is_some_and(|secret| secret.expose_secret() == MARK)
    }
}

#[tokio::test]
async fn secrets_are_stored_encrypted_and_decrypted_with_the_key() {
    let world = World::with(secrets(FIRST)).await;
    world.with_secrets().await;
    let stored = world.stored().await;
    assert!(["whsec_", "BTBZM", MCP_TOKEN].iter().all(|secret| !stored.contains(secret)), "{stored}");
    assert!(world.can_decrypt_all(secrets(FIRST)).await);
    let counts = Operations::new(&world.ledger).sealed_secrets().await.unwrap();
    // Bob's webhook with its previous secret, that of the app, his subscription, the app itself and its MCP token.
    assert_eq!(counts, SealedSecrets { stored: 6, sealed: 6, newest: 6, unopened: 0 });
    let other = Operations::new(&process(&world.database, secrets(SECOND))).sealed_secrets().await.unwrap();
    assert_eq!(other, SealedSecrets { stored: 6, sealed: 6, newest: 0, unopened: 6 });
}

#[tokio::test]
async fn deliveries_and_pushes_wait_without_a_try_for_the_key_of_their_secret() {
    let world = World::with(secrets(FIRST)).await;
    world.with_secrets().await;
    world.ledger.outbox().test_delivery(&world.bob, "e", "msg_1").await.unwrap().unwrap();
    world
        .run(
            "insert into action_items (user_id, action_item_id, description, created_at, updated_at, due_at) \
             values ('bob', 'i', 'Buy milk', now(), now(), '2027-01-01'); \
             insert into reminders (user_id, action_item_id, revision, due_at) values ('bob', 'i', 1, '2027-01-01'); \
             insert into push_deliveries (user_id, subscription_id, delivery_id, action_item_id, notice, due_at, status, next_at, created_at) \
             select user_id, subscription_id, 'p', 'i', 'set', '2027-01-01', 'pending', now(), now() from push_subscriptions",
        )
        .await;
    let claim = async |keys: &str| {
        let ledger = process(&world.database, secrets(keys));
        let deliveries = ledger.outbox().claim_deliveries(9, &DeliveryPolicy::default(), None).await.unwrap();
        let pushes = ledger.outbox().claim_pushes(9, &PushPolicy::default(), None).await.unwrap();
        let tries = deliveries.claimed.iter().map(|one| one.try_number);
        tries.chain(pushes.claimed.iter().map(|one| one.try_number)).collect::<Vec<_>>()
    };
    let waiting = "select count(*) from (select status, tries, next_at from webhook_deliveries \
         union all select status, tries, next_at from push_deliveries) o \
         where status = 'pending' and tries = 0 and next_at > now() + interval '4 minutes'";
    for _ in 0..12 {
        assert_eq!(claim(SECOND).await, Vec::<i32>::new());
        assert_eq!(world.count(waiting).await, 2);
        world
            .run("update webhook_deliveries set next_at = now(); update push_deliveries set next_at = now()")
            .await;
    }
    assert_eq!(claim(FIRST).await, [1, 1], "neither was given up");
    world
        .run(
            "update webhook_deliveries set status = 'pending', sending_until = null, next_at = now(), \
                 occurred_at = now() - interval '4 days'; \
             update push_deliveries set status = 'pending', sending_until = null, next_at = now(), \
                 created_at = now() - interval '4 days'",
        )
        .await;
    assert_eq!(claim(SECOND).await, Vec::<i32>::new());
    let given_up = "select count(*) from (select status, next_at from webhook_deliveries \
         union all select status, next_at from push_deliveries) o where status = 'exhausted' and next_at is null";
    assert_eq!(world.count(given_up).await, 2, "nobody sets the key for days");
}

#[tokio::test]
async fn reseal_encrypts_with_the_newest_key_and_is_idempotent() {
    let world = World::new().await;
    world.with_secrets().await;
    assert!(world.stored().await.contains("whsec_"), "without a key");
    for keys in [FIRST.to_owned(), format!("{SECOND},{FIRST}")] {
        let ledger = process(&world.database, secrets(&keys));
        assert_eq!(
            Operations::new(&ledger).reseal_secrets().await.unwrap(),
            Resealed { sealed: 5, unreadable: 0 }
        );
        assert_eq!(
            Operations::new(&ledger).reseal_secrets().await.unwrap(),
            Resealed::default(),
            "nothing is left"
        );
    }
    let stored = world.stored().await;
    assert!(!stored.contains("whsec_") && !stored.contains(MCP_TOKEN), "{stored}");
    assert!(world.can_decrypt_all(secrets(SECOND)).await, "the first key is no longer needed");
    assert!(!world.can_decrypt_all(secrets(FIRST)).await);
    let lost = Operations::new(&process(&world.database, secrets(FIRST))).reseal_secrets().await.unwrap();
    assert_eq!(
        lost,
        Resealed { sealed: 0, unreadable: 5 },
        "secrets that it cannot decrypt are left as they are"
    );
    assert!(world.can_decrypt_all(secrets(SECOND)).await);
}

#[tokio::test]
async fn web_push_claim_decrypts_its_secret() {
    let world = World::with(secrets(FIRST)).await;
    world.with_secrets().await;
    let message = outbox::AppMessage {
        id: "01993b1e-6f0a-7c31-9d55-000000000001",
        user: &world.bob,
        app: APP,
        text: "hello",
        key: None,
    };
    world.ledger.outbox().send_app_message(&message).await.unwrap();
    let claimed = world.ledger.outbox().claim_pushes(10, &PushPolicy::default(), None).await.unwrap().claimed;
    let SubscriptionKind::WebPush { auth, .. } = &claimed[0].kind else { panic!("{claimed:?}") };
    assert_eq!(auth.expose_secret(), "BTBZMqHH6r4Tts7J_aSIgg");
}

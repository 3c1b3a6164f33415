//! A user's audio webhook: its secret, switching it, and what disables it.

use db::Secrets;
use operations::Operations;
use outbox::{AudioWebhook, Health, NewAudioWebhook};
use secrecy::{ExposeSecret, SecretString};

use crate::world::{World, process};

const KEY: &str = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=";
const URL: &str = "https://example.com/audio";

fn new(url: &str, secret: &str) -> NewAudioWebhook {
    let secret = SecretString::from(secret);
    NewAudioWebhook { url: url.to_owned(), seconds: 5, secret, replace_secret: false }
}

impl World {
    async fn set(&self, new: &NewAudioWebhook) -> AudioWebhook {
        self.ledger.outbox().set_audio_webhook(&self.bob, new).await.unwrap().unwrap()
    }

    async fn secret(&self) -> String {
        let receiver = self.ledger.outbox().audio_receiver(&self.bob).await.unwrap().unwrap();
        receiver.secret.expose_secret().to_owned()
    }
}

#[tokio::test]
async fn secret_is_kept_with_its_url_until_replaced() {
    let world = World::new().await;
    assert!(world.set(&new(URL, "one")).await.is_new_secret);
    assert!(!world.set(&new(URL, "two")).await.is_new_secret);
    assert_eq!(world.secret().await, "one");
    let replacing = NewAudioWebhook { replace_secret: true, ..new(URL, "three") };
    assert!(world.set(&replacing).await.is_new_secret);
    assert_eq!(world.secret().await, "three");
    assert!(world.set(&new("https://other.example/", "four")).await.is_new_secret);
    assert_eq!(world.secret().await, "four", "another receiver never learns the first one's");
    assert!(world.ledger.outbox().audio_receiver(&world.ann).await.unwrap().is_none(), "another user's");
}

#[tokio::test]
async fn audio_webhook_secret_is_encrypted_by_reseal() {
    let world = World::new().await;
    world.set(&new(URL, "whsec_plain")).await;
    let sealed = process(&world.database, Secrets::new(&SecretString::from(KEY)).unwrap());
    assert_eq!(Operations::new(&sealed).reseal_secrets().await.unwrap().sealed, 1);
    let stored: String = world.value("select secret from audio_webhooks").await;
    assert!(stored.starts_with("aes1."), "{stored}");
    let receiver = sealed.outbox().audio_receiver(&world.bob).await.unwrap().unwrap();
    assert_eq!(receiver.secret.expose_secret(), "whsec_plain");
}

#[tokio::test]
async fn audio_webhook_is_disabled_after_a_hundred_failures() {
    let world = World::new().await;
    world.set(&new(URL, "s")).await;
    let (ledger, bob) = (world.ledger.outbox(), &world.bob);
    for outcome in [Health::Failing; 99] {
        ledger.note_audio_outcome(bob, 1, outcome).await.unwrap();
    }
    ledger.note_audio_outcome(bob, 1, Health::Alive).await.unwrap();
    let seen = ledger.audio_webhook(bob).await.unwrap().unwrap();
    assert!(seen.enabled && seen.failing_since.is_none() && seen.last_success_at.is_some());
    for outcome in [Health::Failing; 100] {
        ledger.note_audio_outcome(bob, 1, outcome).await.unwrap();
    }
    let seen = ledger.audio_webhook(bob).await.unwrap().unwrap();
    assert_eq!((seen.enabled, seen.disabled_reason.as_deref()), (false, Some("failing")));
    assert!(seen.failing_since.is_some());
    assert!(ledger.audio_receiver(bob).await.unwrap().is_none());
    let seen = ledger.switch_audio_webhook(bob, true).await.unwrap().unwrap();
    assert!(seen.enabled && seen.disabled_reason.is_none() && seen.failing_since.is_none());
    ledger.note_audio_outcome(bob, 1, Health::Gone).await.unwrap();
    let seen = ledger.audio_webhook(bob).await.unwrap().unwrap();
    assert!(seen.enabled, "of a request that an older version sent");
    ledger.note_audio_outcome(bob, 2, Health::Gone).await.unwrap();
    let seen = ledger.audio_webhook(bob).await.unwrap().unwrap();
    assert_eq!(seen.disabled_reason.as_deref(), Some("gone"));
    assert!(ledger.switch_audio_webhook(&world.ann, true).await.unwrap().is_none());
}

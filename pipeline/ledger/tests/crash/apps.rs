//! Apps of third parties, what they write, and where users are.

use std::num::NonZeroU32;

use db::Error;
use ledger::Ledger;
use operations::Operations;
use outbox::{AppMessage, ClaimedPush, DeliveryOutcome, PushPolicy};
use records::{Geolocation, UserId};
use secrecy::SecretString;
use store::{AppFields, AppVisibility, KeptManifest, NewApp, NewAppKey};

use crate::{
    Said,
    pushes::subscription,
    words::name,
    world::{World, action},
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum App {
    Create,
    Store,
    Delete,
    Install,
    Uninstall,
    CreateKey,
    ShowKey,
    Admit,
    RevokeKey,
    SwitchOff,
    SwitchOn,
    Fail,
    Send,
    ClaimPush,
    FinishPush,
    Locate,
    Forget,
}

/// A user with an app of their own, and a claimed push.
pub(crate) struct Scene {
    user: UserId,
    claimed: Option<ClaimedPush>,
}

impl Said for App {
    type Scene = Scene;

    /// An operator's switch is recorded each time.
    fn is_harmless_twice(self) -> bool {
        !matches!(self, Self::SwitchOff | Self::SwitchOn)
    }

    async fn prepare(self, world: &World, person: &str) -> Scene {
        let mut scene = Scene { user: world.person(person).await, claimed: None };
        let ledger = world.ledger();
        let before: &[Self] = match self {
            Self::Create | Self::Locate => &[],
            Self::Forget => &[Self::Locate],
            Self::Uninstall | Self::Send => &[Self::Create, Self::Install],
            Self::ClaimPush | Self::FinishPush => &[Self::Create, Self::Install, Self::Send],
            Self::ShowKey | Self::RevokeKey => &[Self::Create, Self::CreateKey],
            // The use of the key is noted already: that is a transaction of its own.
            Self::Admit => &[Self::Create, Self::CreateKey, Self::ShowKey],
            Self::SwitchOn => &[Self::Create, Self::SwitchOff],
            _ => &[Self::Create],
        };
        if matches!(self, Self::Send | Self::ClaimPush | Self::FinishPush) {
            ledger.outbox().subscribe(&scene.user, &subscription(&scene.user)).await.unwrap().unwrap();
        }
        for verb in before {
            verb.say(&ledger, &scene).await.unwrap();
        }
        if self == Self::FinishPush {
            let mut claimed =
                ledger.outbox().claim_pushes(100, &PushPolicy::default()).await.unwrap().claimed;
            let mine = claimed.iter().position(|push| push.user_id == scene.user).expect("one is due");
            scene.claimed = Some(claimed.swap_remove(mine));
        }
        scene
    }

    async fn say(self, ledger: &Ledger, scene: &Scene) -> Result<(), Error> {
        let user = &scene.user;
        let (app, named) = (app(user), || ledger.under_key(name(user)));
        match self {
            Self::Create => ledger.store().create_app(user, &new(user)).await.map(drop),
            Self::Store => {
                let changed = AppFields { description: "changed".to_owned(), ..new(user).fields };
                ledger.store().store_app(user, &app, 1, &changed, Some(&manifest())).await.map(drop)
            }
            Self::Delete => ledger.store().delete_app(user, &app).await.map(drop),
            Self::Install => ledger.store().install_app(user, &app).await.map(drop),
            Self::Uninstall => ledger.store().uninstall_app(user, &app).await.map(drop),
            Self::CreateKey => named().store().create_app_key(user, &app, &key(user)).await.map(drop),
            Self::ShowKey => ledger.store().app_key_owner(&key(user).sha256).await.map(drop),
            Self::Admit => {
                let key = ledger.store().app_key_owner(&key(user).sha256).await?.expect("it lives");
                ledger.store().admit_app_request(&key, NonZeroU32::MIN).await.map(drop)
            }
            Self::RevokeKey => ledger.store().revoke_app_key(user, &app, &key(user).id).await.map(drop),
            Self::SwitchOff => Operations::new(ledger).switch_off_app(&app, &action(user)).await.map(drop),
            Self::SwitchOn => Operations::new(ledger).switch_on_app(&app, &action(user)).await.map(drop),
            Self::Fail => ledger.store().note_app_outcome(user, &app, true).await,
            Self::Send => {
                let id = message(user);
                let message = AppMessage { id: &id, user, app: &app, text: "hello", key: Some(name(user)) };
                ledger.outbox().send_app_message(&message).await.map(drop)
            }
            Self::ClaimPush => ledger.outbox().claim_pushes(100, &PushPolicy::default()).await.map(drop),
            Self::FinishPush => {
                let claimed = scene.claimed.as_ref().expect("one was claimed");
                let done = DeliveryOutcome::Delivered { status: 200 };
                ledger.outbox().finish_push(claimed, done, &PushPolicy::default()).await.map(drop)
            }
            Self::Locate => ledger.store().note_location(user, &location(), None).await.map(drop),
            Self::Forget => ledger.store().forget_location(user).await,
        }
    }
}

/// A UUID that the user's name gives.
fn app(user: &UserId) -> String {
    id(user, "8d55")
}

fn message(user: &UserId) -> String {
    id(user, "9d55")
}

fn id(user: &UserId, kind: &str) -> String {
    let sum = user.as_str().bytes().fold(7_u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
    format!("01993b1e-6f0a-7c31-{kind}-{:012x}", sum & 0xffff_ffff_ffff)
}

fn new(user: &UserId) -> NewApp {
    NewApp {
        id: app(user),
        fields: AppFields {
            name: "Writer".to_owned(),
            visibility: AppVisibility::Public,
            webhook_url: Some("https://writer.example/hook".to_owned()),
            ..AppFields::default()
        },
        manifest: Some(manifest()),
        secret: SecretString::from("whsec_c2VjcmV0"),
    }
}

fn manifest() -> KeptManifest {
    KeptManifest {
        text: "{}".to_owned(),
        sha256: [0; 32],
        chat_enabled: true,
        chat_target: "main",
        chat_notify: true,
    }
}

fn key(user: &UserId) -> NewAppKey {
    let mut sha256 = [1; 32];
    for (place, byte) in user.as_str().bytes().enumerate() {
        sha256[place % 32] ^= byte.rotate_left(u32::try_from(place / 32).unwrap());
    }
    NewAppKey { id: format!("key-{user}"), label: "key".to_owned(), prefix: "lak_".to_owned(), sha256 }
}

fn location() -> Geolocation {
    Geolocation { latitude: 1.0, longitude: 2.0, address: None, google_place_id: None, location_type: None }
}

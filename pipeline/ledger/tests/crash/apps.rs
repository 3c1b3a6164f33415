//! Apps of third parties, their messages, and locations of users.

use std::num::NonZeroU32;

use db::Error;
use ledger::Ledger;
use operations::Operations;
use outbox::{AppMessage, ClaimedPush, DeliveryOutcome, PushPolicy};
use records::{Geolocation, UserId};
use secrecy::SecretString;
use store::{AppFields, AppVisibility, KeptManifest, NewApp, NewAppKey};

use crate::{
    CrashOperation,
    keyed_requests::request_key,
    pushes::subscription,
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
    UseKey,
    Admit,
    RevokeKey,
    SwitchOff,
    SwitchOn,
    Fail,
    Send,
    ClaimPush,
    FinishPush,
    Locate,
    ForgetLocation,
}

/// A user with an app of their own, and a claimed push.
pub(crate) struct Setup {
    user: UserId,
    claimed: Option<ClaimedPush>,
}

impl CrashOperation for App {
    type Setup = Setup;

    /// Each switch by an operator is recorded.
    fn is_idempotent(self) -> bool {
        !matches!(self, Self::SwitchOff | Self::SwitchOn)
    }

    async fn prepare(self, world: &World, user_id: &str) -> Setup {
        let mut setup = Setup { user: world.user(user_id).await, claimed: None };
        let ledger = world.ledger();
        let before: &[Self] = match self {
            Self::Create | Self::Locate => &[],
            Self::ForgetLocation => &[Self::Locate],
            Self::Uninstall | Self::Send => &[Self::Create, Self::Install],
            Self::ClaimPush | Self::FinishPush => &[Self::Create, Self::Install, Self::Send],
            Self::UseKey | Self::RevokeKey => &[Self::Create, Self::CreateKey],
            // The use of the key is recorded already, as that is a transaction of its own.
            Self::Admit => &[Self::Create, Self::CreateKey, Self::UseKey],
            Self::SwitchOn => &[Self::Create, Self::SwitchOff],
            _ => &[Self::Create],
        };
        if matches!(self, Self::Send | Self::ClaimPush | Self::FinishPush) {
            ledger.outbox().subscribe(&setup.user, &subscription(&setup.user)).await.unwrap().unwrap();
        }
        for operation in before {
            operation.execute(&ledger, &setup).await.unwrap();
        }
        if self == Self::FinishPush {
            let mut claimed =
                ledger.outbox().claim_pushes(100, &PushPolicy::default(), None).await.unwrap().claimed;
            let own = claimed.iter().position(|push| push.user_id == setup.user).expect("one is due");
            setup.claimed = Some(claimed.swap_remove(own));
        }
        setup
    }

    async fn execute(self, ledger: &Ledger, setup: &Setup) -> Result<(), Error> {
        let user = &setup.user;
        let (app, named) = (app(user), || ledger.under_key(request_key(user)));
        match self {
            Self::Create => ledger.store().create_app(user, &new(user)).await.map(drop),
            Self::Store => {
                let changed = AppFields { description: "changed".to_owned(), ..new(user).fields };
                ledger.store().store_app(user, (&app, 1), &changed, None, Some(&manifest())).await.map(drop)
            }
            Self::Delete => ledger.store().delete_app(user, &app).await.map(drop),
            Self::Install => ledger.store().install_app(user, &app).await.map(drop),
            Self::Uninstall => ledger.store().uninstall_app(user, &app).await.map(drop),
            Self::CreateKey => named().store().create_app_key(user, &app, &key(user)).await.map(drop),
            Self::UseKey => ledger.store().app_key_owner(&key(user).sha256).await.map(drop),
            Self::Admit => {
                let key = ledger.store().app_key_owner(&key(user).sha256).await?.expect("it lives");
                ledger.store().admit_app_request(&key, NonZeroU32::MIN).await.map(drop)
            }
            Self::RevokeKey => ledger.store().revoke_app_key(user, &app, &key(user).id).await.map(drop),
            Self::SwitchOff => Operations::new(ledger).switch_app(&app, false, &action(user)).await.map(drop),
            Self::SwitchOn => Operations::new(ledger).switch_app(&app, true, &action(user)).await.map(drop),
            Self::Fail => ledger.store().note_app_outcome(user, &app, true).await,
            Self::Send => {
                let id = message(user);
                let message =
                    AppMessage { id: &id, user, app: &app, text: "hello", key: Some(request_key(user)) };
                ledger.outbox().send_app_message(&message).await.map(drop)
            }
            Self::ClaimPush => {
                ledger.outbox().claim_pushes(100, &PushPolicy::default(), None).await.map(drop)
            }
            Self::FinishPush => {
                let claimed = setup.claimed.as_ref().expect("one was claimed");
                let done = DeliveryOutcome::Delivered { status: 200 };
                ledger.outbox().finish_push(claimed, done, &PushPolicy::default()).await.map(drop)
            }
            Self::Locate => ledger.store().note_location(user, &location(), None).await.map(drop),
            Self::ForgetLocation => ledger.store().forget_location(user).await,
        }
    }
}

/// A UUID derived from the user's id.
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
        mcp_token: None,
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
    for (index, byte) in user.as_str().bytes().enumerate() {
        sha256[index % 32] ^= byte.rotate_left(u32::try_from(index / 32).unwrap());
    }
    NewAppKey { id: format!("key-{user}"), label: "key".to_owned(), prefix: "lak_".to_owned(), sha256 }
}

fn location() -> Geolocation {
    Geolocation { latitude: 1.0, longitude: 2.0, address: None, google_place_id: None, location_type: None }
}

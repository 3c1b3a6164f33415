//! Reminders and the pushes that they become.

use std::time::Duration;

use chrono::TimeDelta;
use db::Error;
use ledger::{Ledger, NewActionItem};
use outbox::{ClaimedPush, DeliveryOutcome, NewSubscription, PushPolicy, SubscriptionKind};
use records::{ActionItemId, UserId};

use crate::{Said, world::World};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Push {
    Fire,
    FireLate,
    Claim,
    ClaimDead,
    ClaimClosed,
    GiveUp,
    Deliver,
    Fail,
    LoseSubscription,
}

/// A user, and a push of hers under way.
pub(crate) struct Scene {
    user: UserId,
    claimed: Option<ClaimedPush>,
}

/// The date has come.
const DUE: &str = "with later as (update action_items set due_at = due_at - interval '2 hours' where user_id = $1), \
     told as (update push_deliveries set due_at = due_at - interval '2 hours' where user_id = $1) \
     update reminders set due_at = due_at - interval '2 hours', fire_at = fire_at - interval '2 hours' where user_id = $1";
/// What no verb leaves behind: the item was done, and its reminder was not taken back.
const DONE: &str =
    "update action_items set completed = true, completed_at = clock_timestamp() where user_id = $1";
/// Its sender has had the time for a try.
const LATER: &str = "update push_deliveries set sending_until = clock_timestamp() - interval '1 second' where sending_until is not null \
         and user_id = $1";
const TRIED_OFTEN: &str = "update push_deliveries set tries = 6 where user_id = $1";
/// A back-off is over.
const DUE_AGAIN: &str = "update push_deliveries set next_at = clock_timestamp() - interval '1 second' where next_at is not null \
         and user_id = $1";

impl Said for Push {
    type Scene = Scene;

    async fn prepare(self, world: &World, person: &str) -> Scene {
        let user = world.person(person).await;
        let ledger = world.ledger();
        remind(&ledger, &user).await;
        let mut scene = Scene { user, claimed: None };
        let user = &scene.user;
        match self {
            Self::Fire => world.run(DUE, user).await,
            Self::FireLate => {
                world.run(DUE, user).await;
                world.run(DONE, user).await;
            }
            Self::Claim => {}
            Self::ClaimClosed => world.run(DONE, user).await,
            _ => {
                let mut claimed = ledger.outbox().claim_pushes(100, &policy()).await.unwrap().claimed;
                let mine = claimed.iter().position(|push| push.user_id == *user).expect("one is due");
                scene.claimed = Some(claimed.swap_remove(mine));
                if matches!(self, Self::ClaimDead | Self::GiveUp) {
                    world.run(LATER, user).await;
                }
                if self == Self::GiveUp {
                    world.run(TRIED_OFTEN, user).await;
                }
            }
        }
        scene
    }

    async fn say(self, ledger: &Ledger, scene: &Scene) -> Result<(), Error> {
        let finish = |outcome| async move {
            let claimed = scene.claimed.as_ref().expect("one was taken");
            ledger.outbox().finish_push(claimed, outcome, &policy()).await.map(drop)
        };
        match self {
            Self::Fire | Self::FireLate => ledger.outbox().fire_reminders(100).await.map(drop),
            Self::Claim | Self::ClaimDead | Self::ClaimClosed | Self::GiveUp => {
                ledger.outbox().claim_pushes(100, &policy()).await.map(drop)
            }
            Self::Deliver => finish(DeliveryOutcome::Delivered { status: 204 }).await,
            Self::Fail => {
                let error = "status";
                finish(DeliveryOutcome::Retry {
                    status: Some(503),
                    error,
                    retry_after: None,
                    jitter_permille: 0,
                })
                .await
            }
            Self::LoseSubscription => finish(DeliveryOutcome::Gone).await,
        }
    }

    /// Those who remain fire and send all that is left: then each notice was written once, and nothing is under way.
    async fn afterwards(self, world: &World, scene: &Scene, position: &str) {
        let ledger = world.ledger();
        world.run(DUE, &scene.user).await;
        while ledger.outbox().fire_reminders(100).await.unwrap() > 0 {}
        world.run(LATER, &scene.user).await;
        world.run(DUE_AGAIN, &scene.user).await;
        for push in ledger.outbox().claim_pushes(100, &policy()).await.unwrap().claimed {
            let delivered = DeliveryOutcome::Delivered { status: 204 };
            assert!(ledger.outbox().finish_push(&push, delivered, &policy()).await.unwrap(), "{position}");
        }
        let left: Vec<(String, String)> = sqlx::query_as(
            "select notice, status from push_deliveries where user_id = $1 order by notice desc",
        )
        .bind(scene.user.as_str())
        .fetch_all(&world.pool)
        .await
        .unwrap();
        let left: Vec<_> = left.iter().map(|(notice, status)| (notice.as_str(), status.as_str())).collect();
        let told: &[(&str, &str)] = match self {
            Self::FireLate => &[("set", "cancelled")],
            Self::ClaimClosed => &[("set", "cancelled")],
            Self::GiveUp => &[("set", "exhausted"), ("due", "delivered")],
            Self::LoseSubscription => &[],
            _ => &[("set", "delivered"), ("due", "delivered")],
        };
        assert_eq!(left, told, "{position}");
    }
}

/// Gives the person a subscription and an item that is due in an hour, so that a push waits and a reminder is set.
pub(crate) async fn remind(ledger: &Ledger, user: &UserId) {
    ledger.outbox().subscribe(user, &subscription(user)).await.unwrap().unwrap();
    let due_at = ledger.db().now().await.unwrap() + TimeDelta::hours(1);
    let item = NewActionItem { due_at: Some(due_at), ..item(user) };
    ledger.create_action_items(user, &[item]).await.unwrap();
}

/// An item without a date.
pub(crate) fn item(user: &UserId) -> NewActionItem {
    NewActionItem {
        id: ActionItemId::new(format!("item-{user}")),
        description: "Call the dentist".to_owned(),
        completed: false,
        due_at: None,
    }
}

pub(crate) fn subscription(user: &UserId) -> NewSubscription {
    NewSubscription { kind: SubscriptionKind::Webhook, url: format!("https://example.com/{user}") }
}

/// Tries that are under way stay their sender's for as long as a test takes.
fn policy() -> PushPolicy {
    PushPolicy { sending: Duration::from_secs(300), per_person: 50, ..PushPolicy::default() }
}

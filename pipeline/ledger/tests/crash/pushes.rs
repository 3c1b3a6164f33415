//! Reminders, and the pushes that they create.

use std::time::Duration;

use chrono::TimeDelta;
use db::Error;
use ledger::{Ledger, NewActionItem};
use outbox::{ClaimedPush, DeliveryOutcome, NewSubscription, PushPolicy, SubscriptionKind};
use records::{ActionItemId, UserId};

use crate::{CrashOperation, world::World};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Push {
    Fire,
    FireOfCompletedItem,
    Claim,
    ClaimOfDeadSender,
    ClaimOfCompletedItem,
    GiveUp,
    Deliver,
    Fail,
    SubscriptionGone,
}

/// A user, and a claimed push of the user.
pub(crate) struct Setup {
    user: UserId,
    claimed: Option<ClaimedPush>,
}

/// Makes the reminder due.
const DUE: &str = "with later as (update action_items set due_at = due_at - interval '2 hours' where user_id = $1), \
     pushes as (update push_deliveries set due_at = due_at - interval '2 hours' where user_id = $1) \
     update reminders set due_at = due_at - interval '2 hours', fire_at = fire_at - interval '2 hours' where user_id = $1";
/// A state that no operation leaves behind: the item was completed, and its reminder was not cancelled.
const DONE: &str =
    "update action_items set completed = true, completed_at = clock_timestamp() where user_id = $1";
/// Expires the sender's claim.
const LATER: &str = "update push_deliveries set sending_until = clock_timestamp() - interval '1 second' where sending_until is not null \
         and user_id = $1";
const TRIED_OFTEN: &str = "update push_deliveries set tries = 6 where user_id = $1";
/// Ends the back-off.
const DUE_AGAIN: &str = "update push_deliveries set next_at = clock_timestamp() - interval '1 second' where next_at is not null \
         and user_id = $1";

impl CrashOperation for Push {
    type Setup = Setup;

    async fn prepare(self, world: &World, user_id: &str) -> Setup {
        let user = world.user(user_id).await;
        let ledger = world.ledger();
        remind(&ledger, &user).await;
        let mut setup = Setup { user, claimed: None };
        let user = &setup.user;
        match self {
            Self::Fire => world.run(DUE, user).await,
            Self::FireOfCompletedItem => {
                world.run(DUE, user).await;
                world.run(DONE, user).await;
            }
            Self::Claim => {}
            Self::ClaimOfCompletedItem => world.run(DONE, user).await,
            _ => {
                let mut claimed = ledger.outbox().claim_pushes(100, &policy(), None).await.unwrap().claimed;
                let own = claimed.iter().position(|push| push.user_id == *user).expect("one is due");
                setup.claimed = Some(claimed.swap_remove(own));
                if matches!(self, Self::ClaimOfDeadSender | Self::GiveUp) {
                    world.run(LATER, user).await;
                }
                if self == Self::GiveUp {
                    world.run(TRIED_OFTEN, user).await;
                }
            }
        }
        setup
    }

    async fn execute(self, ledger: &Ledger, setup: &Setup) -> Result<(), Error> {
        let finish = |outcome| async move {
            let claimed = setup.claimed.as_ref().expect("one was taken");
            ledger.outbox().finish_push(claimed, outcome, &policy()).await.map(drop)
        };
        match self {
            Self::Fire | Self::FireOfCompletedItem => ledger.outbox().fire_reminders(100).await.map(drop),
            Self::Claim | Self::ClaimOfDeadSender | Self::ClaimOfCompletedItem | Self::GiveUp => {
                ledger.outbox().claim_pushes(100, &policy(), None).await.map(drop)
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
            Self::SubscriptionGone => finish(DeliveryOutcome::Gone).await,
        }
    }

    /// Other processes fire and send the rest: each notice is created once, and none is left in progress.
    async fn check_after(self, world: &World, setup: &Setup, position: &str) {
        let ledger = world.ledger();
        world.run(DUE, &setup.user).await;
        while ledger.outbox().fire_reminders(100).await.unwrap() > 0 {}
        world.run(LATER, &setup.user).await;
        world.run(DUE_AGAIN, &setup.user).await;
        for push in ledger.outbox().claim_pushes(100, &policy(), None).await.unwrap().claimed {
            let delivered = DeliveryOutcome::Delivered { status: 204 };
            assert!(ledger.outbox().finish_push(&push, delivered, &policy()).await.unwrap(), "{position}");
        }
        let left: Vec<(String, String)> = sqlx::query_as(
            "select notice, status from push_deliveries where user_id = $1 order by notice desc",
        )
        .bind(setup.user.as_str())
        .fetch_all(&world.pool)
        .await
        .unwrap();
        let left: Vec<_> = left.iter().map(|(notice, status)| (notice.as_str(), status.as_str())).collect();
        let expected: &[(&str, &str)] = match self {
            Self::FireOfCompletedItem => &[("set", "cancelled")],
            Self::ClaimOfCompletedItem => &[("set", "cancelled")],
            Self::GiveUp => &[("set", "exhausted"), ("due", "delivered")],
            Self::SubscriptionGone => &[],
            _ => &[("set", "delivered"), ("due", "delivered")],
        };
        assert_eq!(left, expected, "{position}");
    }
}

/// Creates a subscription and an item that is due in an hour, so that a push is pending and a reminder is set.
pub(crate) async fn remind(ledger: &Ledger, user: &UserId) {
    ledger.outbox().subscribe(user, &subscription(user)).await.unwrap().unwrap();
    let due_at = ledger.db().now().await.unwrap() + TimeDelta::hours(1);
    let item = NewActionItem { due_at: Some(due_at), ..item(user) };
    ledger.create_action_items(user, &[item]).await.unwrap();
}

/// An item without a due date.
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

/// Claims last as long as a test takes.
fn policy() -> PushPolicy {
    PushPolicy { sending: Duration::from_secs(300), per_subscription: 50, ..PushPolicy::default() }
}

//! What is sent to others: webhook deliveries, pushes to devices, reminders, and the hand-over of jobs to a task queue.
//!
//! Rows are written in the transaction that makes them true ([`announce`], [`reminders`]); dispatchers claim them
//! afterwards through [`Outbox`], send, and store the outcome.

#![allow(missing_docs, reason = "where a name says it all")]

pub mod announce;
mod audio_webhooks;
mod chat;
pub mod deliveries;
pub mod endpoints;
mod fair;
mod health;
mod pushes;
mod receivers;
pub mod reminders;
mod subscriptions;
mod tasks;
mod tries;

use std::sync::Arc;

use db::Db;
use receivers::LastTurn;

pub use audio_webhooks::{AudioReceiver, AudioWebhook, NewAudioWebhook};
pub use chat::{AppMessage, MESSAGES_PER_HOUR, Notified, SentThisHour};
pub use deliveries::{
    ClaimedDelivery, Claims, DeliveryPage, DeliveryPolicy, DeliveryTry, DeliveryView, Redelivery, TRIES_KEPT,
    TestRefusal,
};
pub use endpoints::{Endpoint, EndpointChange, EndpointChangeRefusal, EndpointRefusal, NewEndpoint};
pub use fair::SenderLoad;
pub use pushes::{ClaimedPush, PushPolicy, Pushed};
pub use reminders::Notice;
pub use subscriptions::{NewSubscription, Subscription, SubscriptionKind, TooManySubscriptions};
pub use tasks::{DueTask, HandOver, Unhanded};
pub use tries::{DeliveryOutcome, Health};

/// The outbox of one process's database. Cheap to clone.
#[derive(Clone)]
pub struct Outbox {
    db: Db,
    turns: Arc<Turns>,
}

#[derive(Default)]
struct Turns {
    endpoints: LastTurn,
    subscriptions: LastTurn,
}

impl Outbox {
    pub fn new(db: Db) -> Self {
        Self { db, turns: Arc::default() }
    }
}

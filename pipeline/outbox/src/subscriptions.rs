//! Where a person is reminded: browsers (web push) and webhooks of the person's own (DECISIONS §3, "push").

use db::{Error, lock_user, query_as, query_scalar, secrets::Context, sql};
use records::{Timestamp, UserId};
use secrecy::SecretString;
use uuid::Uuid;

use crate::Outbox;

/// How many a person may have.
const MOST: i64 = 20;

/// How a subscription is reached.
#[derive(Clone, Debug)]
pub enum SubscriptionKind {
    /// A browser, through its push service (RFC 8030).
    WebPush {
        /// The browser's public key: an uncompressed P-256 point, base64url.
        p256dh: String,
        /// The browser's secret: 16 bytes, base64url.
        auth: SecretString,
    },
    /// A JSON body to a URL.
    Webhook,
}

impl SubscriptionKind {
    /// The name on the wire and in the tables.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::WebPush { .. } => "webpush",
            Self::Webhook => "webhook",
        }
    }
}

/// A subscription to be stored; its URL was checked by the guard, its keys by the sender that will use them.
#[derive(Clone, Debug)]
pub struct NewSubscription {
    pub kind: SubscriptionKind,
    pub url: String,
}

/// A stored subscription, without its keys.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct Subscription {
    /// UUID v5 of (user, kind, url): a browser that subscribes at every start is one subscription.
    #[sqlx(rename = "subscription_id")]
    pub id: String,
    /// `webpush` or `webhook`.
    pub kind: String,
    pub url: String,
    /// Since when nothing got through.
    pub failing_since: Option<Timestamp>,
    /// The last push that was taken.
    pub last_success_at: Option<Timestamp>,
    pub created_at: Timestamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManySubscriptions;

impl Outbox {
    /// Stores a subscription; one of the same kind and URL is renewed instead, with the new keys.
    pub async fn subscribe(
        &self,
        user: &UserId,
        new: &NewSubscription,
    ) -> Result<Result<Subscription, TooManySubscriptions>, Error> {
        let id = subscription_id(user, new);
        let (mut transaction, now) = self.db.begin_creating(&[&id]).await?;
        // Two that subscribe at once are counted one after the other.
        lock_user(&mut transaction, user).await?;
        let others: i64 =
            query_scalar!("subscriptions/count_others.sql", user, &id).fetch_one(&mut *transaction).await?;
        if others >= MOST {
            return Ok(Err(TooManySubscriptions));
        }
        let (p256dh, auth) = match &new.kind {
            SubscriptionKind::WebPush { p256dh, auth } => {
                (Some(p256dh), Some(self.db.secrets().seal(Context::subscription(user.as_str(), &id), auth)?))
            }
            SubscriptionKind::Webhook => (None, None),
        };
        let stored =
            query_as!("subscriptions/upsert.sql", user, &id, new.kind.as_str(), &new.url, p256dh, auth, now)
                .fetch_one(&mut *transaction)
                .await?;
        transaction.commit().await?;
        Ok(Ok(stored))
    }

    pub async fn subscriptions(&self, user: &UserId) -> Result<Vec<Subscription>, Error> {
        Ok(query_as!("subscriptions/list.sql", user).fetch_all(self.db.pool()).await?)
    }

    /// Removes a subscription with what was still to be sent to it, and forgets what was answered of it. `false`: no such subscription.
    pub async fn unsubscribe(&self, user: &UserId, id: &str) -> Result<bool, Error> {
        let pushes = sql!("subscriptions/delete_pushes.sql");
        self.db.delete_with_rows(pushes, sql!("subscriptions/delete.sql"), user, id).await
    }
}

fn subscription_id(user: &UserId, new: &NewSubscription) -> String {
    let name = format!("{user}\n{}\n{}", new.kind.as_str(), new.url);
    Uuid::new_v5(&SUBSCRIPTIONS, name.as_bytes()).to_string()
}

/// The namespace of subscription ids; part of the durable contract.
const SUBSCRIPTIONS: Uuid = Uuid::from_u128(0x6c69_7374_656e_5f73_7562_7363_7269_6200);

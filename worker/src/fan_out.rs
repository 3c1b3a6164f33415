//! Webhook deliveries: at least once, with a stable id, and never at the cost of a run or of another endpoint
//! (DECISIONS §6).

use std::{iter, slice, sync::Arc, time::Duration};

use bytes::Bytes;
use outbox::{ClaimedDelivery, ClaimedPush, DeliveryOutcome, SenderLoad};
use outside::{Sender, Url, signed_headers};
use records::{ActionItem, EventKind, Memory, UserId, WebhookFormat};
use store::ConversationView;
use tracing::Span;

use crate::{
    dispatcher::Outbound, outcome, retry::Unanswered, sender_slots::ReceiverWait, shared::Shared, traces,
};

/// Renders what receivers are sent: a port, because wire shapes belong to `api`.
pub trait Render: Send + Sync {
    /// The body of `delivery`, in the delivery's format. `conversation` is the one that it is about, with
    /// its transcript, when it is about one; `memory` and `item` likewise, an item only when it belongs to no
    /// conversation. `None`: what it is about no longer exists.
    fn body(
        &self,
        delivery: &ClaimedDelivery,
        conversation: Option<&ConversationView>,
        memory: Option<&Memory>,
        item: Option<&ActionItem>,
    ) -> Option<Vec<u8>>;

    /// The words of `push`, before they are encrypted.
    fn push(&self, push: &ClaimedPush) -> Vec<u8>;
}

/// Sends webhook deliveries. Cheap to clone.
#[derive(Clone)]
pub(crate) struct FanOut {
    pub(crate) shared: Shared,
    pub(crate) sender: Sender,
    pub(crate) render: Arc<dyn Render>,
}

impl Outbound for FanOut {
    type Claimed = ClaimedDelivery;

    const NAME: &'static str = "deliveries";

    fn of(delivery: &ClaimedDelivery) -> (&UserId, &str) {
        (&delivery.user_id, &delivery.delivery_id)
    }

    fn url(delivery: &ClaimedDelivery) -> &str {
        &delivery.url
    }

    fn span(delivery: &ClaimedDelivery) -> Span {
        traces::delivery(delivery)
    }

    async fn claim(&self, limit: i64, load: SenderLoad) -> Result<Vec<ClaimedDelivery>, db::Error> {
        let (ledger, policy) = (&self.shared.ledger, &self.shared.settings.deliveries);
        let claims = ledger.db().in_time(ledger.outbox().claim_deliveries(limit, policy, Some(load))).await?;
        self.shared.metrics.count_tries(outcome::GIVEN_UP, claims.given_up);
        Ok(claims.claimed)
    }

    /// The body of every try is the same: rendered once, and kept before it is sent first.
    async fn send(
        &self,
        delivery: &ClaimedDelivery,
        wait: &ReceiverWait,
    ) -> Result<Option<DeliveryOutcome>, Unanswered> {
        if delivery.for_app && !self.shared.settings.apps {
            return Ok(Some(DeliveryOutcome::Cancelled));
        }
        if let Some(body) = &delivery.body {
            return Ok(Some(self.post(delivery, body.clone(), wait).await));
        }
        let Some(body) = self.rendered(delivery).await? else {
            return Ok(Some(DeliveryOutcome::Cancelled));
        };
        let ledger = &self.shared.ledger;
        match self.shared.with_retries(|| ledger.outbox().keep_body(delivery, &body)).await? {
            true => Ok(Some(self.post(delivery, body.into(), wait).await)),
            // Another process may have the delivery by now: sending what was not kept could send two different bodies.
            false => Ok(None),
        }
    }

    async fn finish(&self, delivery: &ClaimedDelivery, outcome: DeliveryOutcome) -> Result<bool, db::Error> {
        let (ledger, policy) = (&self.shared.ledger, &self.shared.settings.deliveries);
        ledger.db().in_time(ledger.outbox().finish_delivery(delivery, outcome, policy)).await
    }

    fn tries<'a>(&'a self, delivery: &ClaimedDelivery) -> (i32, &'a [Duration]) {
        (delivery.try_number, &self.shared.settings.deliveries.schedule)
    }

    fn report(&self, delivery: &ClaimedDelivery, counted: &'static str) {
        self.shared.metrics.count_tries(counted, 1);
        tracing::info!(
            delivery_id = delivery.delivery_id,
            endpoint_id = delivery.endpoint_id,
            try_number = delivery.try_number,
            outcome = counted,
            "tried a delivery"
        );
    }

    async fn next_in(&self) -> Result<Option<Duration>, db::Error> {
        let ledger = &self.shared.ledger;
        ledger.db().in_time(ledger.outbox().next_delivery_in()).await
    }

    async fn written(&self) {
        self.shared.ledger.db().waker().deliveries_waiting().await;
    }
}

impl FanOut {
    /// The body; `None` when what it is about no longer exists.
    async fn rendered(&self, delivery: &ClaimedDelivery) -> Result<Option<Vec<u8>>, Unanswered> {
        let (ledger, user) = (&self.shared.ledger, &delivery.user_id);
        let conversation = match &delivery.conversation_id {
            None => None,
            Some(id) => {
                match self.shared.with_retries(|| ledger.store().conversation(user, id, true)).await? {
                    None => return Ok(None),
                    found => found,
                }
            }
        };
        // The memory that a full delivery shows, or the action item, when a person made it: a conversation's own come with
        // the conversation.
        let (mut memory, mut item) = (None, None);
        match (delivery.event, &delivery.subject_id) {
            (Some(EventKind::MemoryCreated), Some(id)) if delivery.format == WebhookFormat::Full => {
                let read =
                    self.shared.with_retries(|| ledger.store().memories_named(user, slice::from_ref(id)));
                memory = read.await?.pop();
            }
            (Some(EventKind::ActionItemCreated), Some(id))
                if delivery.format == WebhookFormat::Full && delivery.conversation_id.is_none() =>
            {
                let read =
                    self.shared.with_retries(|| ledger.store().action_items_named(user, slice::from_ref(id)));
                item = read.await?.pop();
            }
            _ => {}
        }
        Ok(self.render.body(delivery, conversation.as_ref(), memory.as_ref(), item.as_ref()))
    }

    async fn post(&self, delivery: &ClaimedDelivery, body: Bytes, wait: &ReceiverWait) -> DeliveryOutcome {
        wait.keeps(body.len());
        match request(delivery, &body) {
            Ok((url, headers)) => {
                let answer = self.sender.post(delivery.user_id.as_str(), &url, headers, body);
                outcome::of(wait.or_timeout(answer).await, &self.shared.chance)
            }
            Err(error) => DeliveryOutcome::Final { status: None, error },
        }
    }
}

type Headers = Vec<(String, String)>;

/// The request of one try (Standard Webhooks): the URL with `?uid=` added, and the headers with the signature of this try.
///
/// # Errors
/// A bounded code, when the stored URL or secret is invalid: no later try can mend that.
fn request(delivery: &ClaimedDelivery, body: &[u8]) -> Result<(Url, Headers), &'static str> {
    let mut url = Url::parse(&delivery.url).map_err(|_| "refused_address")?;
    url.query_pairs_mut().append_pair("uid", delivery.user_id.as_str());
    let (id, timestamp) = (delivery.delivery_id.as_str(), delivery.now.timestamp());
    let secrets = iter::once(&delivery.secret).chain(&delivery.previous_secret);
    let mut headers = signed_headers(secrets, id, timestamp, body).map_err(|_| "secret")?;
    for (name, value) in [("content-type", "application/json"), ("idempotency-key", id)] {
        headers.push((name.to_owned(), value.to_owned()));
    }
    Ok((url, headers))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

    use chrono::DateTime;
    use records::UserId;
    use records::WebhookFormat;
    use secrecy::SecretString;

    use super::*;

    fn delivery(url: &str, secret: &str) -> ClaimedDelivery {
        let now = DateTime::from_timestamp(1_614_265_330, 0).unwrap();
        ClaimedDelivery {
            user_id: UserId::new("a b&c"),
            endpoint_id: "e1".to_owned(),
            delivery_id: "msg_p5jXN8AQM9LWM0D4loKWxJek".to_owned(),
            epoch: 1,
            try_number: 1,
            url: url.to_owned(),
            secret: SecretString::from(secret),
            previous_secret: None,
            for_app: false,
            format: WebhookFormat::Full,
            event: None,
            occurred_at: now,
            conversation_id: None,
            subject_id: None,
            body: None,
            now,
            trace: None,
        }
    }

    #[test]
    fn webhook_url_gets_the_user_added_to_its_query() {
        let delivery = delivery("https://example.com/hook?x=1", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
        let (url, _) = request(&delivery, b"{}").unwrap();
        assert_eq!(url.as_str(), "https://example.com/hook?x=1&uid=a+b%26c");
    }

    #[test]
    fn webhook_headers_follow_standard_webhooks() {
        let delivery = delivery("https://example.com/", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
        let (_, headers) = request(&delivery, br#"{"test": 2432232314}"#).unwrap();
        let value =
            |name: &str| headers.iter().find(|(header, _)| header == name).map(|(_, value)| value.as_str());
        assert_eq!(value("webhook-id"), Some("msg_p5jXN8AQM9LWM0D4loKWxJek"));
        assert_eq!(value("idempotency-key"), value("webhook-id"));
        assert_eq!(value("webhook-timestamp"), Some("1614265330"));
        // The example of the specification.
        assert_eq!(value("webhook-signature"), Some("v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="));
    }

    #[test]
    fn webhook_is_signed_with_old_and_new_secret_during_rotation() {
        let old = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
        let mut delivery = delivery("https://example.com/", "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA");
        delivery.previous_secret = Some(SecretString::from(old));
        let (_, headers) = request(&delivery, br#"{"test": 2432232314}"#).unwrap();
        let (_, signatures) = headers.iter().find(|(name, _)| name == "webhook-signature").unwrap();
        let (new, previous) = signatures.split_once(' ').unwrap();
        assert!(new.starts_with("v1,"));
        assert_eq!(previous, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn webhook_that_cannot_be_signed_is_not_sent() {
        assert_eq!(request(&delivery("https://example.com/", "none"), b"{}").unwrap_err(), "secret");
        assert_eq!(
            request(&delivery("no url", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"), b"{}").unwrap_err(),
            "refused_address"
        );
    }
}

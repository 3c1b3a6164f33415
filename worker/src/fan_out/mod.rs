//! Telling endpoints what happened: at least once, with a stable id, and never at the cost of a run or of
//! another endpoint (DECISIONS §6).

pub(crate) mod outcome;
mod request;

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures::FutureExt;
use ledger::Ledger;
use outbox::{ClaimedDelivery, ClaimedPush, DeliveryOutcome, DeliveryPolicy, SenderLoad};
use outside::Sender;
use records::{ActionItem, EventKind, Memory, MemoryId, UserId, WebhookFormat};
use store::ConversationView;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use crate::{
    chance::Chance,
    dispatcher::Outbound,
    metrics::Metrics,
    retry::{Unanswered, with_retries},
    traces,
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

/// Tells endpoints. Cheap to clone.
#[derive(Clone)]
pub(crate) struct FanOut {
    pub(crate) ledger: Ledger,
    pub(crate) sender: Sender,
    pub(crate) render: Arc<dyn Render>,
    pub(crate) policy: DeliveryPolicy,
    pub(crate) metrics: Metrics,
    pub(crate) chance: Chance,
    pub(crate) hard: CancellationToken,
}

impl Outbound for FanOut {
    type Claimed = ClaimedDelivery;

    const NAME: &'static str = "deliveries";

    fn user(delivery: &ClaimedDelivery) -> &UserId {
        &delivery.user_id
    }

    async fn claim(&self, limit: i64, load: SenderLoad) -> Result<Vec<ClaimedDelivery>, db::Error> {
        let claims = self
            .ledger
            .db()
            .in_time(self.ledger.outbox().claim_deliveries(limit, &self.policy, Some(load)))
            .await?;
        self.metrics.count_tries(outcome::GIVEN_UP, claims.given_up);
        Ok(claims.claimed)
    }

    /// One try. Whatever ends it without an answer of the ledger, the delivery is due again at its `until`;
    /// a panic counts as a try, or it would be repeated for ever.
    async fn deliver(&self, delivery: &ClaimedDelivery) {
        let span = traces::delivery(delivery);
        let told = self.tell_once(delivery).instrument(span.clone()).await;
        if let Some((outcome, counted)) = told {
            traces::delivered(&span, outcome, counted);
        }
    }

    async fn next_in(&self) -> Result<Option<Duration>, db::Error> {
        self.ledger.db().in_time(self.ledger.outbox().next_delivery_in()).await
    }

    async fn written(&self) {
        self.ledger.db().waker().deliveries_waiting().await;
    }
}

impl FanOut {
    /// The try, and what is counted of it; `None` when it came to no outcome.
    async fn tell_once(&self, delivery: &ClaimedDelivery) -> Option<(DeliveryOutcome, &'static str)> {
        let outcome = match AssertUnwindSafe(self.attempt(delivery)).catch_unwind().await {
            Ok(Ok(Some(outcome))) => outcome,
            Ok(Ok(None)) => {
                self.report(delivery, outcome::LOST);
                return None;
            }
            Ok(Err(Unanswered::Stopped)) => return None,
            Ok(Err(Unanswered::Broken)) => outcome::unreadable(&self.chance),
            Err(_) => {
                tracing::error!(delivery_id = delivery.delivery_id, "telling an endpoint panicked");
                outcome::unreadable(&self.chance)
            }
        };
        let verb = || {
            self.ledger.db().in_time(self.ledger.outbox().finish_delivery(delivery, outcome, &self.policy))
        };
        let counted = match with_retries(&self.chance, &self.hard, verb).await {
            Ok(true) => outcome::label(outcome, delivery.try_number, &self.policy.schedule),
            Ok(false) | Err(_) => outcome::LOST,
        };
        self.report(delivery, counted);
        Some((outcome, counted))
    }

    fn report(&self, delivery: &ClaimedDelivery, counted: &'static str) {
        self.metrics.count_tries(counted, 1);
        tracing::info!(
            delivery_id = delivery.delivery_id,
            endpoint_id = delivery.endpoint_id,
            try_number = delivery.try_number,
            outcome = counted,
            "told"
        );
    }

    /// How the try ended; `None` when its claim was over before anything was sent. The body of every try is the same:
    /// rendered once, and kept before it is sent first.
    async fn attempt(&self, delivery: &ClaimedDelivery) -> Result<Option<DeliveryOutcome>, Unanswered> {
        if let Some(body) = &delivery.body {
            return Ok(Some(self.post(delivery, body.clone()).await));
        }
        let Some(body) = self.rendered(delivery).await? else {
            return Ok(Some(DeliveryOutcome::Cancelled));
        };
        let verb = || self.ledger.db().in_time(self.ledger.outbox().keep_body(delivery, &body));
        match with_retries(&self.chance, &self.hard, verb).await? {
            true => Ok(Some(self.post(delivery, body).await)),
            // Another process may have the delivery by now: sending what was not kept could send two different bodies.
            false => Ok(None),
        }
    }

    /// The body; `None` when what it is about no longer exists.
    async fn rendered(&self, delivery: &ClaimedDelivery) -> Result<Option<Vec<u8>>, Unanswered> {
        let conversation = match &delivery.conversation_id {
            None => None,
            Some(id) => match self.conversation(delivery, id).await? {
                None => return Ok(None),
                found => found,
            },
        };
        let memory = self.memory(delivery).await?;
        let item = self.item(delivery).await?;
        Ok(self.render.body(delivery, conversation.as_ref(), memory.as_ref(), item.as_ref()))
    }

    async fn conversation(
        &self,
        delivery: &ClaimedDelivery,
        id: &records::ConversationId,
    ) -> Result<Option<ConversationView>, Unanswered> {
        let verb = || self.ledger.store().conversation(&delivery.user_id, id, true);
        with_retries(&self.chance, &self.hard, verb).await
    }

    /// The memory that a full delivery shows.
    async fn memory(&self, delivery: &ClaimedDelivery) -> Result<Option<Memory>, Unanswered> {
        let is_shown =
            delivery.event == Some(EventKind::MemoryCreated) && delivery.format == WebhookFormat::Full;
        let Some(id) = delivery.subject_id.as_ref().filter(|_| is_shown) else { return Ok(None) };
        let id = MemoryId::new(id.as_str());
        let verb = || self.ledger.db().in_time(self.ledger.store().memory_to_tell(&delivery.user_id, &id));
        with_retries(&self.chance, &self.hard, verb).await
    }

    /// The action item that a full delivery shows, when a person made it: a conversation's own come with the
    /// conversation.
    async fn item(&self, delivery: &ClaimedDelivery) -> Result<Option<ActionItem>, Unanswered> {
        let is_shown = delivery.event == Some(EventKind::ActionItemCreated)
            && delivery.format == WebhookFormat::Full
            && delivery.conversation_id.is_none();
        let Some(id) = delivery.subject_id.clone().filter(|_| is_shown) else { return Ok(None) };
        let named = [id];
        let verb =
            || self.ledger.db().in_time(self.ledger.store().action_items_named(&delivery.user_id, &named));
        Ok(with_retries(&self.chance, &self.hard, verb).await?.pop())
    }

    async fn post(&self, delivery: &ClaimedDelivery, body: Vec<u8>) -> DeliveryOutcome {
        match request::of(delivery, &body) {
            Ok((url, headers)) => {
                let answer =
                    self.sender.post(delivery.user_id.as_str(), &url, headers, body, delivery.now).await;
                outcome::of(answer, &self.chance)
            }
            Err(error) => DeliveryOutcome::Final { status: None, error },
        }
    }
}

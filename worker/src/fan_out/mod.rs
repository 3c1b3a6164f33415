//! Telling endpoints what happened: at least once, with a stable id, and never at the cost of a run or of
//! another endpoint (DECISIONS §6).

mod outcome;
mod request;
mod slots;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use ledger::{ClaimedDelivery, ConversationView, DeliveryOutcome, DeliveryPolicy, Ledger};
use outside::Sender;
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::answered::{BackOff, Unanswered, until_answered};
use crate::chance::Chance;
use crate::metrics::Metrics;

use slots::Slots;

const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Something may be due that cannot be claimed (a full endpoint): it is asked for again, not in a tight loop.
const SHORTEST_SLEEP: Duration = Duration::from_millis(50);

/// Renders what an endpoint is sent: a port, because wire shapes belong to `api`.
pub trait Render: Send + Sync {
    /// The body of `delivery`, in the delivery's format. `conversation` is the one that it is about, with
    /// its transcript, when it is about one. `None`: what it is about no longer exists.
    fn body(&self, delivery: &ClaimedDelivery, conversation: Option<&ConversationView>) -> Option<Vec<u8>>;
}

/// The loop that tells. Cheap to clone.
#[derive(Clone)]
pub(crate) struct FanOut {
    pub(crate) ledger: Ledger,
    pub(crate) sender: Sender,
    pub(crate) render: Arc<dyn Render>,
    pub(crate) policy: DeliveryPolicy,
    pub(crate) metrics: Metrics,
    pub(crate) chance: Chance,
    pub(crate) soft: CancellationToken,
    pub(crate) hard: CancellationToken,
}

impl FanOut {
    /// Claims and tells until the process stops; tries under way are `tracker`'s.
    pub(crate) async fn run(self, tracker: TaskTracker) {
        let slots = Slots::new();
        let mut back_off = BackOff::new(&self.chance);
        while let Some(free) = self.soft.run_until_cancelled(slots.free()).await.flatten() {
            match self.ledger.claim_deliveries(limit(&free), &self.policy).await {
                Ok(claimed) => {
                    back_off.reset();
                    let nothing_due = claimed.is_empty();
                    self.start(claimed, free, &slots, &tracker);
                    if nothing_due {
                        self.sleep().await;
                    }
                }
                Err(error) => {
                    drop(free);
                    tracing::warn!(%error, "deliveries could not be claimed");
                    self.soft.run_until_cancelled(tokio::time::sleep(back_off.wait())).await;
                }
            }
        }
    }

    fn start(
        &self,
        claimed: Vec<ClaimedDelivery>,
        mut free: OwnedSemaphorePermit,
        slots: &Slots,
        tracker: &TaskTracker,
    ) {
        for delivery in claimed {
            let (slot, slots, fan_out) = (free.split(1), slots.clone(), self.clone());
            tracker.spawn(async move {
                let told = slots.hold(slot, fan_out.tell(&delivery));
                fan_out.hard.clone().run_until_cancelled(told).await;
            });
        }
    }

    async fn sleep(&self) {
        let until_next = match self.ledger.next_delivery_in().await {
            Ok(Some(wait)) => wait.clamp(SHORTEST_SLEEP, POLL_INTERVAL),
            Ok(None) | Err(_) => POLL_INTERVAL,
        };
        let written = self.ledger.waker().deliveries_waiting();
        self.soft.run_until_cancelled(tokio::time::timeout(until_next, written)).await;
    }

    /// One try. Whatever ends it without an answer of the ledger, the delivery is due again at its `until`;
    /// a panic counts as a try, or it would be repeated for ever.
    async fn tell(&self, delivery: &ClaimedDelivery) {
        let outcome = match AssertUnwindSafe(self.attempt(delivery)).catch_unwind().await {
            Ok(Some(outcome)) => outcome,
            Ok(None) => return,
            Err(_) => {
                tracing::error!(delivery_id = delivery.delivery_id, "telling an endpoint panicked");
                outcome::unreadable(&self.chance)
            }
        };
        let verb = || self.ledger.finish_delivery(delivery, outcome, &self.policy);
        let counted = match until_answered(&self.chance, &self.hard, verb).await {
            Ok(true) => outcome::label(outcome),
            Ok(false) | Err(_) => "lost",
        };
        self.metrics.count_try(counted);
        tracing::info!(
            delivery_id = delivery.delivery_id,
            endpoint_id = delivery.endpoint_id,
            try_number = delivery.try_number,
            outcome = counted,
            "told"
        );
    }

    /// How the try ended; `None` when there is nothing to report.
    async fn attempt(&self, delivery: &ClaimedDelivery) -> Option<DeliveryOutcome> {
        match self.body(delivery).await {
            Ok(Some(body)) => Some(self.post(delivery, body).await),
            Ok(None) => Some(DeliveryOutcome::Cancelled),
            Err(Unanswered::Stopped) => None,
            Err(Unanswered::Broken) => Some(outcome::unreadable(&self.chance)),
        }
    }

    /// The body of every try of this delivery: rendered once, and kept before it is sent first.
    async fn body(&self, delivery: &ClaimedDelivery) -> Result<Option<Vec<u8>>, Unanswered> {
        if let Some(body) = &delivery.body {
            return Ok(Some(body.clone()));
        }
        let conversation = match &delivery.conversation_id {
            None => None,
            Some(id) => match self.conversation(delivery, id).await? {
                None => return Ok(None),
                found => found,
            },
        };
        let Some(body) = self.render.body(delivery, conversation.as_ref()) else { return Ok(None) };
        let verb = || self.ledger.keep_body(delivery, &body);
        match until_answered(&self.chance, &self.hard, verb).await? {
            true => Ok(Some(body)),
            // Somebody else has the delivery by now: sending what was not kept could tell two things.
            false => Err(Unanswered::Stopped),
        }
    }

    async fn conversation(
        &self,
        delivery: &ClaimedDelivery,
        id: &records::ConversationId,
    ) -> Result<Option<ConversationView>, Unanswered> {
        let verb = || self.ledger.conversation(&delivery.user_id, id, true);
        until_answered(&self.chance, &self.hard, verb).await
    }

    async fn post(&self, delivery: &ClaimedDelivery, body: Vec<u8>) -> DeliveryOutcome {
        match request::of(delivery, &body) {
            Ok((url, headers)) => {
                let answer = self.sender.post(&url, headers, body, delivery.now).await;
                outcome::of(answer, &self.chance)
            }
            Err(error) => DeliveryOutcome::Final { status: None, error },
        }
    }
}

fn limit(free: &OwnedSemaphorePermit) -> i64 {
    i64::try_from(free.num_permits()).unwrap_or(i64::MAX)
}

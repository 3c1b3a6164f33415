//! Pushes to the browsers and webhooks that users subscribed: reminders of action items, and what apps write into chats
//! (DECISIONS §3, "push").

mod request;

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use db::Error;
use futures::FutureExt;
use ledger::Ledger;
use outbox::{ClaimedPush, DeliveryOutcome, PushPolicy, SenderLoad, SubscriptionKind};
use outside::{Answer, Sender, Vapid};
use records::UserId;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use crate::{
    chance::Chance,
    dispatcher::Outbound,
    fan_out::{Render, outcome},
    metrics::Metrics,
    retry::with_retries,
    traces,
};

/// Reminders that one look fires; the rest is due at once again.
const FIRED_AT_ONCE: i64 = 100;

/// Fires reminders and sends pushes. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Pushes {
    pub(crate) ledger: Ledger,
    pub(crate) sender: Sender,
    pub(crate) vapid: Option<Vapid>,
    pub(crate) render: Arc<dyn Render>,
    pub(crate) policy: PushPolicy,
    pub(crate) metrics: Metrics,
    pub(crate) chance: Chance,
    pub(crate) hard: CancellationToken,
}

impl Outbound for Pushes {
    type Claimed = ClaimedPush;

    const NAME: &'static str = "pushes";

    fn user(push: &ClaimedPush) -> &UserId {
        &push.user_id
    }

    /// Pushes under way are bounded by user already (`PushPolicy::per_person`).
    async fn claim(&self, limit: i64, _: SenderLoad) -> Result<Vec<ClaimedPush>, Error> {
        self.ledger.db().in_time(self.ledger.outbox().fire_reminders(FIRED_AT_ONCE)).await?;
        let claims = self.ledger.db().in_time(self.ledger.outbox().claim_pushes(limit, &self.policy)).await?;
        self.metrics.count_pushes(outcome::GIVEN_UP, claims.given_up);
        Ok(claims.claimed)
    }

    /// One try. Whatever ends it without an answer of the ledger, the push is due again at its `until`; a panic counts
    /// as a try, or it would be repeated for ever.
    async fn deliver(&self, push: &ClaimedPush) {
        let span = traces::push(push);
        let (outcome, counted) = self.tell_once(push).instrument(span.clone()).await;
        traces::delivered(&span, outcome, counted);
    }

    async fn next_in(&self) -> Result<Option<Duration>, Error> {
        self.ledger.db().in_time(self.ledger.outbox().next_push_in(&self.policy)).await
    }

    async fn written(&self) {
        self.ledger.db().waker().pushes_waiting().await;
    }
}

impl Pushes {
    /// The try, and what is counted of it.
    async fn tell_once(&self, push: &ClaimedPush) -> (DeliveryOutcome, &'static str) {
        let outcome = match AssertUnwindSafe(self.attempt(push)).catch_unwind().await {
            Ok(outcome) => outcome,
            Err(_) => {
                tracing::error!(delivery_id = push.delivery_id, "sending a push panicked");
                outcome::unreadable(&self.chance)
            }
        };
        let verb = || self.ledger.db().in_time(self.ledger.outbox().finish_push(push, outcome, &self.policy));
        let counted = match with_retries(&self.chance, &self.hard, verb).await {
            Ok(true) => outcome::label(outcome, push.try_number, &self.policy.schedule),
            Ok(false) | Err(_) => outcome::LOST,
        };
        self.metrics.count_pushes(counted, 1);
        tracing::info!(
            delivery_id = push.delivery_id,
            subscription_id = push.subscription_id,
            try_number = push.try_number,
            outcome = counted,
            "pushed"
        );
        (outcome, counted)
    }

    async fn attempt(&self, push: &ClaimedPush) -> DeliveryOutcome {
        let body = self.render.push(push);
        match request::of(push, body, self.vapid.as_ref()) {
            Ok((url, headers, body)) => {
                let answer = self.sender.post(push.user_id.as_str(), &url, headers, body, push.now).await;
                outcome_of(&push.kind, answer, &self.chance)
            }
            Err(error) => DeliveryOutcome::Final { status: None, error },
        }
    }
}

/// What an answer means for a push.
fn outcome_of(kind: &SubscriptionKind, answer: Answer, chance: &Chance) -> DeliveryOutcome {
    match (kind, answer) {
        // RFC 8030, 7.3: a push service knows no such subscription any more.
        (SubscriptionKind::WebPush { .. }, Answer::Status { code: 404, .. }) => DeliveryOutcome::Gone,
        (_, answer) => outcome::of(answer, chance),
    }
}

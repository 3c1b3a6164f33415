//! Pushes to the browsers and webhooks that users subscribed: reminders of action items, and what apps write into chats
//! (DECISIONS §3, "push").

mod request;

use std::{sync::Arc, time::Duration};

use db::Error;
use outbox::{ClaimedPush, DeliveryOutcome, SenderLoad, SubscriptionKind};
use outside::{Answer, Sender};
use records::UserId;
use tracing::Span;

use crate::{
    chance::Chance, dispatcher::Outbound, fan_out::Render, outcome, retry::Unanswered,
    sender_slots::ReceiverWait, shared::Shared, traces,
};

/// Reminders that one look fires; the rest is due at once again.
const FIRED_AT_ONCE: i64 = 100;

/// Fires reminders and sends pushes. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Pushes {
    pub(crate) shared: Shared,
    pub(crate) sender: Sender,
    pub(crate) render: Arc<dyn Render>,
}

impl Outbound for Pushes {
    type Claimed = ClaimedPush;

    const NAME: &'static str = "pushes";

    fn of(push: &ClaimedPush) -> (&UserId, &str) {
        (&push.user_id, &push.delivery_id)
    }

    fn span(push: &ClaimedPush) -> Span {
        traces::push(push)
    }

    async fn claim(&self, limit: i64, load: SenderLoad) -> Result<Vec<ClaimedPush>, Error> {
        let (ledger, policy) = (&self.shared.ledger, &self.shared.settings.pushes);
        ledger.db().in_time(ledger.outbox().fire_reminders(FIRED_AT_ONCE)).await?;
        let claims = ledger.db().in_time(ledger.outbox().claim_pushes(limit, policy, Some(load))).await?;
        self.shared.metrics.count_pushes(outcome::GIVEN_UP, claims.given_up);
        Ok(claims.claimed)
    }

    async fn send(
        &self,
        push: &ClaimedPush,
        wait: &ReceiverWait,
    ) -> Result<Option<DeliveryOutcome>, Unanswered> {
        let body = self.render.push(push);
        Ok(Some(match request::of(push, body, self.shared.settings.vapid.as_ref()) {
            Ok((url, headers, body)) => {
                let answer = self.sender.post(push.user_id.as_str(), &url, headers, body, push.now);
                outcome_of(&push.kind, wait.or_timeout(answer).await, &self.shared.chance)
            }
            Err(error) => DeliveryOutcome::Final { status: None, error },
        }))
    }

    async fn finish(&self, push: &ClaimedPush, outcome: DeliveryOutcome) -> Result<bool, Error> {
        let (ledger, policy) = (&self.shared.ledger, &self.shared.settings.pushes);
        ledger.db().in_time(ledger.outbox().finish_push(push, outcome, policy)).await
    }

    fn tries<'a>(&'a self, push: &ClaimedPush) -> (i32, &'a [Duration]) {
        (push.try_number, &self.shared.settings.pushes.schedule)
    }

    fn report(&self, push: &ClaimedPush, counted: &'static str) {
        self.shared.metrics.count_pushes(counted, 1);
        tracing::info!(
            delivery_id = push.delivery_id,
            subscription_id = push.subscription_id,
            try_number = push.try_number,
            outcome = counted,
            "pushed"
        );
    }

    async fn next_in(&self) -> Result<Option<Duration>, Error> {
        let (ledger, policy) = (&self.shared.ledger, &self.shared.settings.pushes);
        ledger.db().in_time(ledger.outbox().next_push_in(policy)).await
    }

    async fn written(&self) {
        self.shared.ledger.db().waker().pushes_waiting().await;
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

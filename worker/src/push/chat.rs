//! Pushing what apps write into their users' chats, to the same subscriptions as reminders.

use std::{panic::AssertUnwindSafe, time::Duration};

use db::Error;
use futures::FutureExt;
use outbox::{ClaimedChatPush, DeliveryOutcome, SenderLoad};
use records::UserId;
use request::Pushed;

use super::{Pushes, outcome_of, request};
use crate::{dispatcher::Outbound, fan_out::outcome, retry::with_retries};

/// Sends pushes of apps' messages. Cheap to clone.
#[derive(Clone)]
pub(crate) struct ChatPushes(pub(crate) Pushes);

impl Outbound for ChatPushes {
    type Claimed = ClaimedChatPush;

    const NAME: &'static str = "pushes of messages";

    fn user(push: &ClaimedChatPush) -> &UserId {
        &push.user_id
    }

    /// Pushes under way are bounded by user already (`PushPolicy::per_person`).
    async fn claim(&self, limit: i64, _: SenderLoad) -> Result<Vec<ClaimedChatPush>, Error> {
        let Pushes { ledger, policy, metrics, .. } = &self.0;
        let claims = ledger.db().in_time(ledger.outbox().claim_chat_pushes(limit, policy)).await?;
        metrics.count_pushes(outcome::GIVEN_UP, claims.given_up);
        Ok(claims.claimed)
    }

    /// One try. Whatever ends it without an answer of the ledger, the push is due again at its `until`; a panic counts
    /// as a try, or it would be repeated for ever.
    async fn deliver(&self, push: &ClaimedChatPush) {
        let Pushes { ledger, policy, metrics, chance, hard, .. } = &self.0;
        let ended = match AssertUnwindSafe(self.attempt(push)).catch_unwind().await {
            Ok(ended) => ended,
            Err(_) => {
                tracing::error!(message_id = push.message_id, "sending a push panicked");
                outcome::unreadable(chance)
            }
        };
        let verb = || ledger.db().in_time(ledger.outbox().finish_chat_push(push, ended, policy));
        let counted = match with_retries(chance, hard, verb).await {
            Ok(true) => outcome::label(ended, push.try_number, &policy.schedule),
            Ok(false) | Err(_) => outcome::LOST,
        };
        metrics.count_pushes(counted, 1);
        tracing::info!(
            message_id = push.message_id,
            subscription_id = push.subscription_id,
            try_number = push.try_number,
            outcome = counted,
            "pushed a message"
        );
    }

    async fn next_in(&self) -> Result<Option<Duration>, Error> {
        self.0.ledger.db().in_time(self.0.ledger.outbox().next_chat_push_in(&self.0.policy)).await
    }

    async fn written(&self) {
        self.0.ledger.db().waker().chat_pushes_waiting().await;
    }
}

impl ChatPushes {
    async fn attempt(&self, push: &ClaimedChatPush) -> DeliveryOutcome {
        let Pushes { sender, vapid, render, chance, .. } = &self.0;
        let body = render.chat_push(push);
        match request::of(&Pushed::message(push), body, vapid.as_ref()) {
            Ok((url, headers, body)) => {
                let answer = sender.post(push.user_id.as_str(), &url, headers, body, push.now).await;
                outcome_of(&push.kind, answer, chance)
            }
            Err(error) => DeliveryOutcome::Final { status: None, error },
        }
    }
}

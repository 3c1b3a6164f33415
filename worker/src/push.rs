//! Pushes to the browsers and webhooks that users subscribed: reminders of action items, and what apps write into chats
//! (DECISIONS §3, "push").

use std::{sync::Arc, time::Duration};

use db::Error;
use outbox::{ClaimedPush, DeliveryOutcome, Pushed, SenderLoad, SubscriptionKind};
use outside::{Answer, BrowserKeys, Sender, Url, Vapid, web_push};
use records::UserId;
use secrecy::ExposeSecret;
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

    fn url(push: &ClaimedPush) -> &str {
        &push.url
    }

    fn span(push: &ClaimedPush) -> Span {
        traces::push(push)
    }

    async fn claim(&self, limit: i64, load: SenderLoad) -> Result<Vec<ClaimedPush>, Error> {
        let (ledger, policy) = (&self.shared.ledger, &self.shared.settings.pushes);
        let fired = ledger.db().in_time(ledger.outbox().fire_reminders(FIRED_AT_ONCE)).await;
        let claims = ledger.db().in_time(ledger.outbox().claim_pushes(limit, policy, Some(load))).await?;
        self.shared.metrics.count_pushes(outcome::GIVEN_UP, claims.given_up);
        // Reminders that cannot be fired keep back nothing that can be sent.
        if claims.claimed.is_empty() {
            fired?;
        }
        Ok(claims.claimed)
    }

    async fn send(
        &self,
        push: &ClaimedPush,
        wait: &ReceiverWait,
    ) -> Result<Option<DeliveryOutcome>, Unanswered> {
        let body = self.render.push(push);
        Ok(Some(match request(push, body, self.shared.settings.vapid.as_ref()) {
            Ok((url, headers, body)) => {
                let answer = self.sender.post(push.user_id.as_str(), &url, headers, body);
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
            "tried a push"
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

fn outcome_of(kind: &SubscriptionKind, answer: Answer, chance: &Chance) -> DeliveryOutcome {
    match (kind, answer) {
        // RFC 8030, 7.3: a push service knows no such subscription any more.
        (SubscriptionKind::WebPush { .. }, Answer::Status { code: 404, .. }) => DeliveryOutcome::Gone,
        (_, answer) => outcome::of(answer, chance),
    }
}

type Headers = Vec<(String, String)>;

/// How long a push service keeps a reminder for a browser that is not there: a day, after which it is history.
const TTL_SECONDS: u32 = 86_400;
/// The most that a topic may have (RFC 8030, 5.4).
const TOPIC_LENGTH: usize = 32;

/// Of one topic only the newest push is worth waiting for a browser: of the reminders of one item the last, of messages every one.
fn topic(pushed: &Pushed) -> String {
    let id = match pushed {
        Pushed::Reminder { action_item_id, .. } => action_item_id.as_str(),
        Pushed::Message { message_id, .. } => message_id,
    };
    id.chars().filter(char::is_ascii_alphanumeric).take(TOPIC_LENGTH).collect()
}

/// Where to post what.
///
/// # Errors
/// A bounded code, when no later try can mend what is wrong.
fn request(
    push: &ClaimedPush,
    body: Vec<u8>,
    vapid: Option<&Vapid>,
) -> Result<(Url, Headers, Vec<u8>), &'static str> {
    let url = Url::parse(&push.url).map_err(|_| "refused_address")?;
    let (headers, body) = match &push.kind {
        SubscriptionKind::Webhook => {
            let own = |name: &str, value: &str| (name.to_owned(), value.to_owned());
            let headers = vec![
                own("content-type", "application/json"),
                own("idempotency-key", &push.delivery_id),
                own("webhook-id", &push.delivery_id),
            ];
            (headers, body)
        }
        SubscriptionKind::WebPush { p256dh, auth } => {
            let vapid = vapid.ok_or("unconfigured")?;
            let keys = BrowserKeys::new(p256dh, auth.expose_secret()).map_err(|_| "keys")?;
            let (topic, now) = (topic(&push.pushed), push.now);
            web_push(vapid, &keys, &url, &body, TTL_SECONDS, &topic, now).map_err(|_| "keys")?
        }
    };
    Ok((url, headers, body))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

    use chrono::DateTime;
    use records::{ActionItemId, UserId};
    use secrecy::SecretString;

    use super::*;

    fn push(kind: SubscriptionKind) -> ClaimedPush {
        let now = DateTime::from_timestamp(1_614_265_330, 0).unwrap();
        ClaimedPush {
            user_id: UserId::new("ann"),
            subscription_id: "s".to_owned(),
            delivery_id: "push_1".to_owned(),
            epoch: 1,
            try_number: 1,
            kind,
            url: "https://push.example.com/x".to_owned(),
            pushed: Pushed::Reminder {
                action_item_id: ActionItemId::new("019b1c80-9f3e-7c2d-8a44-5d1f00aa00bb"),
                description: "Call the dentist".to_owned(),
                due_at: now,
            },
            now,
        }
    }

    fn browser() -> SubscriptionKind {
        SubscriptionKind::WebPush {
            p256dh: "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
                .to_owned(),
            auth: SecretString::from("BTBZMqHH6r4Tts7J_aSIgg"),
        }
    }

    fn names(headers: &Headers) -> Vec<&str> {
        headers.iter().map(|(name, _)| name.as_str()).collect()
    }

    #[test]
    fn push_to_a_webhook_has_the_text_and_a_stable_id() {
        let (_, headers, body) = request(&push(SubscriptionKind::Webhook), b"{}".to_vec(), None).unwrap();
        assert_eq!(body, b"{}");
        assert_eq!(names(&headers), ["content-type", "idempotency-key", "webhook-id"]);
    }

    #[test]
    fn push_to_a_browser_is_encrypted() {
        let private = SecretString::from("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw");
        let vapid = Vapid::new(&private, "mailto:ops@example.com").unwrap();
        let (_, headers, body) = request(&push(browser()), b"secret words".to_vec(), Some(&vapid)).unwrap();
        assert!(!body.windows(6).any(|part| part == b"secret"));
        let topic = headers.iter().find(|(name, _)| name == "topic").unwrap();
        assert_eq!(topic.1, "019b1c809f3e7c2d8a445d1f00aa00bb");
        assert!(!names(&headers).contains(&"webhook-id"));
    }

    #[test]
    fn push_to_a_browser_needs_a_vapid_key() {
        assert_eq!(request(&push(browser()), Vec::new(), None).err(), Some("unconfigured"));
    }
}

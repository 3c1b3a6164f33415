//! Action items with due dates during the run: created, moved, completed, reopened and deleted.

use chrono::{SecondsFormat, TimeDelta, Utc};
use rand::RngExt;
use reqwest::Method;
use serde_json::{Value, json};

use super::{Life, idempotent::Request};

impl Life {
    /// A new item that is due soon, or has been; or something with an older one.
    pub(super) async fn remind(&mut self) {
        if self.items.is_empty() || self.chance.random_bool(0.5) {
            self.make_item().await;
        } else {
            self.change_item().await;
        }
    }

    async fn make_item(&mut self) {
        let number = super::next_number();
        let body = json!({ "description": format!("Call zq{number:06} back"), "due_at": self.soon() });
        let request = Request::new("item", "/v1/dev/user/action-items", body, number);
        if let Some(id) = self.ask_with_idempotency_key(request).await {
            self.items.push(id);
        }
    }

    async fn change_item(&mut self) {
        let index = self.chance.random_range(0..self.items.len());
        let path = format!("/v1/dev/user/action-items/{}", self.items[index]);
        let body = match self.chance.random_range(0..10) {
            0 => {
                self.items.swap_remove(index);
                self.until_answered(Method::DELETE, &path, None, None, 3).await;
                return;
            }
            1..5 => json!({ "due_at": self.soon() }),
            5 => json!({ "due_at": Value::Null }),
            6..8 => json!({ "completed": true }),
            _ => json!({ "completed": false }),
        };
        self.until_answered(Method::PATCH, &path, None, Some(&body), 3).await;
    }

    /// From five seconds ago to fifteen from now, by this machine's clock, which is the database's.
    #[expect(clippy::disallowed_methods, reason = "a client has a clock of its own")]
    fn soon(&mut self) -> String {
        let away = TimeDelta::milliseconds(self.chance.random_range(-5_000..15_000));
        (Utc::now() + away).to_rfc3339_opts(SecondsFormat::Millis, true)
    }
}

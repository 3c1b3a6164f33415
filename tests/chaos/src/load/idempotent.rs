//! Requests with an `Idempotency-Key`, repeated at once when the answer was lost, and sometimes long after it came.

use rand::RngExt;
use reqwest::Method;
use serde_json::Value;

use super::Life;
use crate::client;
use crate::journal::{Named, Said};

/// How often one is repeated at once while no answer comes.
const TRIES: u32 = 4;

/// How many a client remembers to ask again.
const KEPT: usize = 40;

/// A request with its idempotency key, to be repeated unchanged.
#[derive(Clone, Debug)]
pub(super) struct Request {
    pub(super) name: String,
    /// What it makes: `conversation` or `item`.
    pub(super) makes: &'static str,
    pub(super) path: &'static str,
    pub(super) body: Value,
    pub(super) number: i64,
    is_answered: bool,
}

impl Request {
    pub(super) fn new(makes: &'static str, path: &'static str, body: Value, number: i64) -> Self {
        let name = format!("{makes}-{number}");
        Self { name, makes, path, body, number, is_answered: false }
    }
}

impl Life {
    /// Creates a conversation with an idempotency key.
    pub(super) async fn create_with_idempotency_key(&mut self) {
        let number = super::next_number();
        let body = client::text(number, false);
        self.ask_with_idempotency_key(Request::new(
            "conversation",
            "/v1/dev/user/conversations",
            body,
            number,
        ))
        .await;
    }

    /// Repeats one of the requests, whether it was answered or not.
    pub(super) async fn ask_again(&mut self) {
        if self.named.is_empty() {
            return;
        }
        let index = self.chance.random_range(0..self.named.len());
        let request = self.named.swap_remove(index);
        self.ask_with_idempotency_key(request).await;
    }

    /// Repeats every unanswered request, and one answered request, so that no request stays open.
    pub(super) async fn repeat_unanswered(&mut self) {
        let (answered, open): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.named).into_iter().partition(|request| request.is_answered);
        for request in open.into_iter().chain(answered.into_iter().next_back()) {
            self.ask_with_idempotency_key(request).await;
        }
    }

    /// Asks; returns the id of what was created, when it is answered for the first time.
    pub(super) async fn ask_with_idempotency_key(&mut self, mut request: Request) -> Option<String> {
        let asked =
            self.until_answered(Method::POST, request.path, Some(&request.name), Some(&request.body), TRIES);
        let (_, status, told, process) = asked.await?;
        let made = told["id"].as_str().unwrap_or_default().to_owned();
        self.world.journal.named.note(Named {
            at: self.world.journal.now(),
            user: self.person.id.clone(),
            name: request.name.clone(),
            makes: request.makes,
            number: request.number,
            status,
            made: made.clone(),
            process,
        });
        let is_first = status == 200 && !request.is_answered;
        request.is_answered |= status == 200;
        if is_first && request.makes == "conversation" {
            self.world.journal.said.note(Said {
                number: request.number,
                user: self.person.id.clone(),
                conversation: made.clone(),
                noise: false,
            });
            self.mine.push((request.number, made.clone()));
        }
        if self.named.len() == KEPT {
            self.named.swap_remove(self.chance.random_range(0..KEPT));
        }
        self.named.push(request);
        is_first.then_some(made)
    }
}

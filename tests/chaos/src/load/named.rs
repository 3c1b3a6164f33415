//! Requests that a client names (`Idempotency-Key`) and asks again: at once when the answer was lost, and now and then
//! long after it came.

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

/// A request with its name, to be asked again word by word.
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
    /// A conversation under a name.
    pub(super) async fn create_under_name(&mut self) {
        let number = super::next_number();
        let body = client::text(number, false);
        self.ask_named(Request::new("conversation", "/v1/dev/user/conversations", body, number)).await;
    }

    /// One of the named requests once more, whether it was answered or not.
    pub(super) async fn ask_again(&mut self) {
        if self.named.is_empty() {
            return;
        }
        let index = self.chance.random_range(0..self.named.len());
        let request = self.named.swap_remove(index);
        self.ask_named(request).await;
    }

    /// Repeats what was never answered, and one request that was: no client leaves with a request open.
    pub(super) async fn ask_what_is_open(&mut self) {
        let (answered, open): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.named).into_iter().partition(|request| request.is_answered);
        for request in open.into_iter().chain(answered.into_iter().next_back()) {
            self.ask_named(request).await;
        }
    }

    /// Asks; returns the id of what was created, when it is answered for the first time.
    pub(super) async fn ask_named(&mut self, mut request: Request) -> Option<String> {
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

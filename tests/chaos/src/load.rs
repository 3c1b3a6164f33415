//! Steady mixed load of clients during the faults.

mod appends;
mod due_dates;
mod idempotent;
pub(crate) mod speech;
pub(crate) mod writes;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use rand::{RngExt, SeedableRng, rngs::StdRng};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::client;
use crate::journal::{Answer, Said};
use crate::model::REFUSED_KEY;
use crate::people::Person;
use crate::world::World;

static NEXT: AtomicI64 = AtomicI64::new(1);

fn next_number() -> i64 {
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// How often a client repeats an unanswered request before it gives up.
const TRIES: u32 = 60;

/// A client of one user, until the run is over.
pub(crate) async fn live(world: Arc<World>, index: usize, stop: CancellationToken) {
    let chance = StdRng::seed_from_u64(world.plan.seed.wrapping_mul(1_000).wrapping_add(index as u64));
    let person = world.people[index].clone();
    let mut life =
        Life { world, person, chance, mine: Vec::new(), items: Vec::new(), named: Vec::new(), words: 0 };
    while !stop.is_cancelled() {
        life.act().await;
        let rest = Duration::from_millis(life.chance.random_range(60..350));
        let _woken = tokio::time::timeout(rest, stop.cancelled()).await;
    }
    life.repeat_unanswered().await;
    life.again("reprocess").await;
}

struct Life {
    world: Arc<World>,
    person: Person,
    chance: StdRng,
    /// Her conversations: number and id.
    mine: Vec<(i64, String)>,
    /// Her action items' ids.
    items: Vec<String>,
    /// Requests with an idempotency key that may be repeated.
    named: Vec<idempotent::Request>,
    /// How many appends were sent; each has a word of its own.
    words: u32,
}

impl Life {
    async fn act(&mut self) {
        match self.chance.random_range(0..100) {
            0..44 => self.talk_and_finalize().await,
            44..52 => self.create_at_once().await,
            52..60 => self.create_with_idempotency_key().await,
            60..66 => self.ask_again().await,
            66..76 => self.remind().await,
            76..82 => self.again("delete").await,
            82..88 => self.again("finalize").await,
            88..94 => self.again("reprocess").await,
            _ => self.again("patch").await,
        }
    }

    async fn talk_and_finalize(&mut self) {
        let number = next_number();
        let body = client::segments(number);
        let Some(id) = self.make("from-segments", "ingest", number, &body, false).await else { return };
        if self.chance.random_bool(0.15) {
            self.patch(number, &id).await;
        }
        for _ in 0..[0, 0, 0, 1, 2][self.chance.random_range(0..5)] {
            self.append(number, &id).await;
        }
        let early = self.chance.random_bool(0.05);
        if early {
            self.delete(&id).await;
        }
        self.finalize(&id, TRIES).await;
        if self.chance.random_bool(0.1) {
            self.finalize(&id, 1).await;
        }
        if self.chance.random_bool(0.05) {
            self.append(number, &id).await;
        }
        if !early && self.chance.random_bool(0.06) {
            self.delete(&id).await;
        }
    }

    async fn create_at_once(&mut self) {
        let number = next_number();
        let noise = self.chance.random_bool(0.2);
        self.make("", "create", number, &client::text(number, noise), noise).await;
    }

    /// Finalizes, reprocesses, changes or deletes an older conversation.
    async fn again(&mut self, what: &str) {
        if self.mine.is_empty() {
            return;
        }
        let index = self.chance.random_range(0..self.mine.len());
        let (number, id) = self.mine[index].clone();
        match what {
            "delete" => {
                self.delete(&id).await;
                self.mine.swap_remove(index);
            }
            "finalize" => self.finalize(&id, 1).await,
            "reprocess" => self.reprocess(&id).await,
            _ => self.patch(number, &id).await,
        }
    }

    /// A create. One that names its session is repeated until it is answered; the other would make a second one.
    async fn make(
        &mut self,
        place: &str,
        verb: &'static str,
        number: i64,
        body: &Value,
        noise: bool,
    ) -> Option<String> {
        let path = format!("/v1/dev/user/conversations/{place}");
        let tries = if verb == "ingest" { TRIES } else { 1 };
        let answered =
            self.until_answered(Method::POST, path.trim_end_matches('/'), None, Some(body), tries).await;
        let (sent, status, told, process) = answered?;
        let id = told["id"].as_str().unwrap_or_default().to_owned();
        self.note(sent, &id, verb, status, told["status"].as_str().unwrap_or_default(), process);
        if status != 200 || id.is_empty() {
            return None;
        }
        self.world.journal.said.note(Said {
            number,
            user: self.person.id.clone(),
            conversation: id.clone(),
            noise,
        });
        self.mine.push((number, id.clone()));
        Some(id)
    }

    async fn finalize(&mut self, id: &str, tries: u32) {
        let path = format!("/v1/conversations/{id}/finalize");
        if let Some((sent, status, told, process)) =
            self.until_answered(Method::POST, &path, None, None, tries).await
        {
            let word = told["conversation"]["status"].as_str().unwrap_or_default().to_owned();
            self.note(sent, id, "finalize", status, &word, process);
        }
    }

    /// It waits a while for the end, like a create; asked again it finds its first job.
    async fn reprocess(&mut self, id: &str) {
        let path = format!("/v1/conversations/{id}/reprocess");
        if let Some((sent, status, told, process)) =
            self.until_answered(Method::POST, &path, None, None, 3).await
        {
            self.note(sent, id, "reprocess", status, told["status"].as_str().unwrap_or_default(), process);
        }
    }

    async fn patch(&mut self, number: i64, id: &str) {
        let title = format!("Called zq{number:06} by hand {}", self.chance.random_range(0..1_000_000));
        let path = format!("/v1/dev/user/conversations/{id}");
        let body = json!({ "title": title });
        if let Some((sent, status, _, process)) =
            self.until_answered(Method::PATCH, &path, None, Some(&body), 1).await
        {
            self.note(sent, id, "patch", status, &title, process);
        }
    }

    async fn delete(&mut self, id: &str) {
        let path = format!("/v1/dev/user/conversations/{id}");
        if let Some((sent, status, _, process)) =
            self.until_answered(Method::DELETE, &path, None, None, 3).await
        {
            self.note(sent, id, "delete", status, "", process);
        }
    }

    /// Asks any running process, with `name` as the idempotency key if given, and repeats on 5xx and silence. The last answer
    /// counts.
    async fn until_answered(
        &mut self,
        method: Method,
        path: &str,
        name: Option<&str>,
        body: Option<&Value>,
        tries: u32,
    ) -> Option<(f64, i32, Value, String)> {
        let mut last = None;
        for _ in 0..tries {
            let addresses = self.world.fleet.addresses();
            if addresses.is_empty() {
                sleep(Duration::from_millis(100)).await;
                continue;
            }
            let address = &addresses[self.chance.random_range(0..addresses.len())];
            let sent = self.world.journal.now();
            let url = format!("{}{path}", address.api);
            let own = self.model_key();
            let client = &self.world.client;
            let (status, told) =
                client.ask_with(method.clone(), &url, &self.person.key, [own.as_deref(), name], body).await;
            if status == 500 {
                self.world.journal.breaches.note(format!("{} answered 500 to {method} {path}", address.name));
            }
            let answered = status != 0 && status < 500;
            last = Some((sent, status, told, address.name.clone()));
            if answered {
                break;
            }
            sleep(Duration::from_millis(self.chance.random_range(50..250))).await;
        }
        last
    }

    /// The model key of a request: mostly her own, sometimes none, sometimes a revoked one. Users without own keys send
    /// none.
    fn model_key(&mut self) -> Option<String> {
        let own = self.person.model_key.clone()?;
        match self.chance.random_range(0..10) {
            0..7 => Some(own),
            7 => Some(REFUSED_KEY.to_owned()),
            _ => None,
        }
    }

    fn note(&self, sent: f64, id: &str, verb: &'static str, status: i32, word: &str, process: String) {
        self.world.journal.answers.note(Answer {
            sent,
            at: self.world.journal.now(),
            user: self.person.id.clone(),
            conversation: id.to_owned(),
            verb,
            status,
            word: word.to_owned(),
            process,
        });
    }
}

//! Steady mixed load: what clients and an operator do while things break.

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
use crate::people::{self, Person};
use crate::program;
use crate::run::World;

static NEXT: AtomicI64 = AtomicI64::new(1);

/// How often a client repeats what was not answered, before it gives up.
const TRIES: u32 = 60;

/// A client with a person's key, until the run is over.
pub(crate) async fn live(world: Arc<World>, index: usize, stop: CancellationToken) {
    let chance = StdRng::seed_from_u64(world.plan.seed.wrapping_mul(1_000).wrapping_add(index as u64));
    let person = world.people[index].clone();
    let mut life = Life { world, person, chance, mine: Vec::new() };
    while !stop.is_cancelled() {
        life.act().await;
        let rest = Duration::from_millis(life.chance.random_range(60..350));
        let _woken = tokio::time::timeout(rest, stop.cancelled()).await;
    }
}

/// An operator who replays dead letters by the command, and a person who is marked in the middle.
pub(crate) async fn operate(world: Arc<World>, stop: CancellationToken) {
    let begun = world.journal.now();
    let mut marked = false;
    while tokio::time::timeout(Duration::from_secs(2), stop.cancelled()).await.is_err() {
        if !marked && world.journal.now() - begun > world.plan.length.as_secs_f64() / 2.0 {
            marked = people::mark(&world.postgres.url("cli-mark"), "marked").await;
        }
        replay(&world, 3).await;
    }
}

/// Replays some dead letters as an operator would. Which one is read from the table; a refusal is fine.
pub(crate) async fn replay(world: &World, limit: i64) {
    let dead: Result<Vec<String>, _> = sqlx::query_scalar(
        "select job_id from finalization_jobs j where status = 'dead_letter' and not exists (select from \
             finalization_admissions a where a.user_id = j.user_id and a.conversation_id = j.conversation_id \
             and a.revision > j.revision) order by updated_at limit $1",
    )
    .bind(limit)
    .fetch_all(&world.pool)
    .await;
    for job in dead.unwrap_or_default() {
        let words = ["jobs", "replay", &job, "--reason", "chaos", "--operator", "kit"];
        program::command(&world.postgres.url("cli-replay"), &words).await;
    }
}

struct Life {
    world: Arc<World>,
    person: Person,
    chance: StdRng,
    /// Her conversations: number and id.
    mine: Vec<(i64, String)>,
}

impl Life {
    async fn act(&mut self) {
        match self.chance.random_range(0..100) {
            0..58 => self.talk_and_finalize().await,
            58..72 => self.create_at_once().await,
            72..80 => self.again("delete").await,
            80..90 => self.again("finalize").await,
            _ => self.again("patch").await,
        }
    }

    async fn talk_and_finalize(&mut self) {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let body = client::segments(number);
        let Some(id) = self.make("from-segments", "ingest", number, &body, false).await else { return };
        if self.chance.random_bool(0.15) {
            self.patch(number, &id).await;
        }
        let early = self.chance.random_bool(0.05);
        if early {
            self.delete(&id).await;
        }
        self.finalize(&id, TRIES).await;
        if self.chance.random_bool(0.1) {
            self.finalize(&id, 1).await;
        }
        if !early && self.chance.random_bool(0.06) {
            self.delete(&id).await;
        }
    }

    async fn create_at_once(&mut self) {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let noise = self.chance.random_bool(0.2);
        self.make("", "create", number, &client::text(number, noise), noise).await;
    }

    /// Something with one of the older conversations.
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
        let answered = self.until_answered(Method::POST, path.trim_end_matches('/'), Some(body), tries).await;
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
            self.until_answered(Method::POST, &path, None, tries).await
        {
            let word = told["conversation"]["status"].as_str().unwrap_or_default().to_owned();
            self.note(sent, id, "finalize", status, &word, process);
        }
    }

    async fn patch(&mut self, number: i64, id: &str) {
        let title = format!("Called zq{number:06} by hand {}", self.chance.random_range(0..1_000_000));
        let path = format!("/v1/dev/user/conversations/{id}");
        let body = json!({ "title": title });
        if let Some((sent, status, _, process)) =
            self.until_answered(Method::PATCH, &path, Some(&body), 1).await
        {
            self.note(sent, id, "patch", status, &title, process);
        }
    }

    async fn delete(&mut self, id: &str) {
        let path = format!("/v1/dev/user/conversations/{id}");
        if let Some((sent, status, _, process)) = self.until_answered(Method::DELETE, &path, None, 3).await {
            self.note(sent, id, "delete", status, "", process);
        }
    }

    /// Asks whichever process is there, and repeats on 5xx and silence. The last answer counts.
    async fn until_answered(
        &mut self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        tries: u32,
    ) -> Option<(f64, i32, Value, String)> {
        let mut last = None;
        for _ in 0..tries {
            let doors = self.world.fleet.doors();
            if doors.is_empty() {
                sleep(Duration::from_millis(100)).await;
                continue;
            }
            let door = &doors[self.chance.random_range(0..doors.len())];
            let sent = self.world.journal.now();
            let url = format!("{}{path}", door.api);
            let own = self.model_key();
            let client = &self.world.client;
            let (status, told) =
                client.ask_with(method.clone(), &url, &self.person.key, own.as_deref(), body).await;
            if status == 500 {
                self.world.journal.breaches.note(format!("{} answered 500 to {method} {path}", door.name));
            }
            let answered = status != 0 && status < 500;
            last = Some((sent, status, told, door.name.clone()));
            if answered {
                break;
            }
            sleep(Duration::from_millis(self.chance.random_range(50..250))).await;
        }
        last
    }

    /// What she brings to a request: her own key mostly, none now and then, and sometimes one that is not good any
    /// more. People without own keys bring nothing.
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

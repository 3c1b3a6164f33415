//! Writes of every kind, by users of their own. Each is read back by a session of the kit as soon as it was acknowledged,
//! and once more at the end: what was answered 2xx is committed, whatever other clients do.

use std::sync::Arc;
use std::time::Duration;

use rand::{RngExt, SeedableRng, rngs::StdRng};
use reqwest::Method;
use serde_json::{Value, json};
use sqlx::AssertSqlSafe;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::people::Person;
use crate::world::World;

/// A kind of record: its route, and the row that it is stored in.
struct Kind {
    path: &'static str,
    new: fn(u64) -> Value,
    change: fn(u64) -> Value,
    /// Its field in requests, and the table, the key and the column that hold it.
    field: &'static str,
    row: (&'static str, &'static str, &'static str),
}

const KINDS: [Kind; 6] = [
    Kind {
        path: "/v1/dev/user/memories",
        new: |number| json!({ "content": format!("first {number}") }),
        change: |number| json!({ "content": format!("changed {number}") }),
        field: "content",
        row: ("memories", "memory_id", "content"),
    },
    Kind {
        path: "/v1/dev/user/goals",
        new: |number| json!({ "title": format!("first {number}"), "target_value": 5 }),
        change: |number| json!({ "title": format!("changed {number}") }),
        field: "title",
        row: ("goals", "goal_id", "title"),
    },
    Kind {
        path: "/v1/dev/user/action-items",
        new: |number| json!({ "description": format!("first {number}") }),
        change: |number| json!({ "description": format!("changed {number}") }),
        field: "description",
        row: ("action_items", "action_item_id", "description"),
    },
    Kind {
        path: "/v1/dev/user/webhooks",
        new: |number| json!({ "url": format!("https://hooks.example/first/{number}") }),
        change: |number| json!({ "url": format!("https://hooks.example/changed/{number}") }),
        field: "url",
        row: ("webhook_endpoints", "endpoint_id", "url"),
    },
    Kind {
        path: "/v1/users/me/people",
        new: |number| json!({ "name": format!("first {number}") }),
        change: |number| json!({ "name": format!("changed {number}") }),
        field: "name",
        row: ("people", "person_id", "name"),
    },
    // A conversation that waits for its finalization: what nothing but its user changes.
    Kind {
        path: "/v1/dev/user/conversations",
        new: |number| {
            let words = json!([{ "text": format!("zq-kept {number}"), "start": 0, "end": 1 }]);
            json!({ "transcript_segments": words, "defer_processing": true })
        },
        change: |number| json!({ "title": format!("changed {number}") }),
        field: "title",
        row: ("conversations", "conversation_id", "title"),
    },
];

/// What must be there: a query that answers `true`.
struct Acknowledged {
    what: String,
    query: String,
}

/// Writes until the run is over, and then reads everything back once more.
pub(crate) async fn write(world: Arc<World>, index: usize, stop: CancellationToken) {
    let mut chance = StdRng::seed_from_u64(world.plan.seed.wrapping_mul(2_000).wrapping_add(index as u64));
    let person = world.writers[index].clone();
    let mut writer = Writer { world, person, number: 0, names: Vec::new(), kept: Vec::new() };
    while !stop.is_cancelled() {
        // Half of them are one statement and no transaction.
        match chance.random_range(0..2 * KINDS.len()) {
            kind if kind < KINDS.len() => {
                writer.make_change_and_delete(&KINDS[kind], chance.random_bool(0.9)).await
            }
            kind if kind.is_multiple_of(2) => writer.revoke_a_key().await,
            _ => writer.rename().await,
        }
    }
    for acknowledged in std::mem::take(&mut writer.kept) {
        writer.check(&acknowledged, "at the end").await;
    }
}

struct Writer {
    world: Arc<World>,
    person: Person,
    number: u64,
    /// Names that the profile may have: the last acknowledged one, and those whose requests were never answered.
    names: Vec<String>,
    kept: Vec<Acknowledged>,
}

impl Writer {
    async fn make_change_and_delete(&mut self, kind: &Kind, is_deleted: bool) {
        self.number += 1;
        let path = if kind.field == "title" && kind.row.0 == "conversations" {
            format!("{}/from-segments", kind.path)
        } else {
            kind.path.to_owned()
        };
        let new = (kind.new)(self.number);
        let Some(made) = self.ask(Method::POST, &path, Some(&new)).await else { return };
        let Some(id) = made["id"].as_str().map(str::to_owned) else { return };
        let (table, key, column) = kind.row;
        let is_there = format!("select exists (select from {table} where {key} = '{id}')");
        self.check(&Acknowledged { what: format!("POST {path} {id}"), query: is_there.clone() }, "at once")
            .await;
        let change = (kind.change)(self.number);
        let place = format!("{}/{id}", kind.path);
        // A change that was not answered may still be done.
        if self.ask(Method::PATCH, &place, Some(&change)).await.is_none() {
            return;
        }
        let value = change[kind.field].as_str().unwrap_or_default();
        let changed = Acknowledged {
            what: format!("PATCH {place}"),
            query: format!(
                "select exists (select from {table} where {key} = '{id}' and {column} = '{value}')"
            ),
        };
        self.check(&changed, "at once").await;
        if !is_deleted {
            self.kept.push(changed);
            return;
        }
        if self.ask(Method::DELETE, &place, None).await.is_some() {
            let gone = Acknowledged {
                what: format!("DELETE {place}"),
                query: format!("select not exists (select from {table} where {key} = '{id}')"),
            };
            self.check(&gone, "at once").await;
            self.kept.push(gone);
        }
    }

    async fn revoke_a_key(&mut self) {
        self.number += 1;
        let body = json!({ "name": format!("key {}", self.number) });
        let Some(made) = self.ask(Method::POST, "/v1/dev/keys", Some(&body)).await else { return };
        let Some(id) = made["id"].as_str() else { return };
        let place = format!("/v1/dev/keys/{id}");
        if self.ask(Method::DELETE, &place, None).await.is_some() {
            let revoked = Acknowledged {
                what: format!("DELETE {place}"),
                query: format!(
                    "select not exists (select from developer_keys where key_id = '{id}' and revoked_at is null)"
                ),
            };
            self.check(&revoked, "at once").await;
            self.kept.push(revoked);
        }
    }

    async fn rename(&mut self) {
        self.number += 1;
        let name = format!("name {}", self.number);
        let body = json!({ "name": name });
        let is_acknowledged = self.ask(Method::PATCH, "/v1/users/me", Some(&body)).await.is_some();
        if is_acknowledged {
            // An earlier request that was never answered may still be done.
            self.names.retain(|earlier| earlier.ends_with('?'));
            self.names.push(name);
            let names: Vec<String> =
                self.names.iter().map(|name| format!("'{}'", name.trim_end_matches('?'))).collect();
            let user = &self.person.id;
            let renamed = Acknowledged {
                what: "PATCH /v1/users/me".to_owned(),
                query: format!(
                    "select exists (select from users where user_id = '{user}' and name in ({}))",
                    names.join(", ")
                ),
            };
            self.check(&renamed, "at once").await;
        } else {
            self.names.push(format!("{name}?"));
        }
    }

    /// Asks once; the answer, when it was acknowledged.
    async fn ask(&self, method: Method, path: &str, body: Option<&Value>) -> Option<Value> {
        let addresses = self.world.fleet.addresses();
        let Some(address) = addresses.get(self.number as usize % addresses.len().max(1)) else {
            sleep(Duration::from_millis(100)).await;
            return None;
        };
        let url = format!("{}{path}", address.api);
        let (status, told) = self.world.client.ask(method.clone(), &url, &self.person.key, body).await;
        // 409: a user has at most 20 webhooks, and the unanswered ones stay.
        if status == 500 || (400..500).contains(&status) && status != 409 {
            self.world
                .journal
                .breaches
                .note(format!("{} answered {status} to {method} {path}", address.name));
        }
        (200..300).contains(&status).then_some(told)
    }

    /// Reads back, as soon as the database answers the kit.
    async fn check(&self, acknowledged: &Acknowledged, when: &str) {
        self.world.journal.acknowledged.note(());
        loop {
            let query = AssertSqlSafe(acknowledged.query.clone());
            match sqlx::query_scalar::<_, bool>(query).fetch_one(&self.world.pool).await {
                Ok(true) => return,
                Ok(false) => {
                    let words = format!("{}, read back {when}: it is not there", acknowledged.what);
                    return self.world.journal.breaches.note(words);
                }
                Err(_) => sleep(Duration::from_millis(100)).await,
            }
        }
    }
}

//! A database with two users, and short ways to fill it.

use std::{ops::Deref, time::Duration};

use ledger::{Ledger, OperatorAction, Settings};
use operations::{Operations, Pruned};
use outbox::{ClaimedDelivery, DeliveryPolicy, NewEndpoint, deliveries::recover::RECOVERS_FOR};
use records::{ConversationId, EventKind, Segment, Timestamp, UserId, WebhookFormat};
use secrecy::SecretString;
use sqlx::AssertSqlSafe;
use store::UserChange;
use testbed::TestDatabase;

use crate::fixture::Fixture;

pub(crate) struct World {
    fixture: Fixture,
    pub(crate) bob: UserId,
}

impl Deref for World {
    type Target = Fixture;

    fn deref(&self) -> &Fixture {
        &self.fixture
    }
}

impl World {
    /// A world with two users, Ann and Bob, who have only their folders.
    pub(crate) async fn new() -> Self {
        let ledger = |database: &TestDatabase| Ledger::new(database.options(), Settings::default());
        let named = |name: &str| UserChange { name: Some(Some(name.to_owned())), ..UserChange::default() };
        let fixture = Fixture::with(ledger, &named("ANN")).await;
        let bob = UserId::new("bob");
        assert!(fixture.ledger.store().create_user(&bob, &named("BOB")).await.unwrap());
        Self { fixture, bob }
    }

    /// The operators' handle on the same database.
    pub(crate) fn operations(&self) -> Operations {
        Operations::new(&self.ledger)
    }

    /// How many deliveries the owner of a webhook recovers.
    pub(crate) async fn recover(&self, user: &UserId, endpoint: &str, since: Timestamp) -> Option<i64> {
        let recovery = self.ledger.outbox().recover(user, endpoint, since, RECOVERS_FOR).await.unwrap();
        recovery.map(|recovery| recovery.deliveries)
    }

    /// Creates a conversation that started at 9:00 and was created `minute` minutes later.
    pub(crate) async fn conversation(
        &self,
        user: &UserId,
        id: &str,
        status: &str,
        minute: i64,
    ) -> ConversationId {
        sqlx::query(
            "insert into conversations (user_id, conversation_id, created_at, updated_at, started_at, finished_at, \
                 language, source, status, title) \
             values ($1, $2, $4, $4, $5, $4, 'en', 'phone', $3, 'Talk ' || $2)",
        )
        .bind(user.as_str())
        .bind(id)
        .bind(status)
        .bind(nine(minute))
        .bind(nine(0))
        .execute(&self.pool)
        .await
        .unwrap();
        ConversationId::new(id)
    }

    /// Creates an endpoint that subscribes to completed conversations.
    pub(crate) async fn endpoint(&self, user: &UserId, id: &str) {
        self.endpoint_for(user, id, &[EventKind::ConversationCompleted]).await;
    }

    /// Creates Ann's endpoints `w` and `v`, and Bob's `w`.
    pub(crate) async fn endpoints_with_equal_ids(&self) {
        for (user, id) in [(&self.ann, "w"), (&self.ann, "v"), (&self.bob, "w")] {
            self.endpoint(user, id).await;
        }
    }

    /// Creates an endpoint that subscribes to `events`.
    pub(crate) async fn endpoint_for(&self, user: &UserId, id: &str, events: &[EventKind]) {
        let new = NewEndpoint {
            force: true,
            id: id.to_owned(),
            url: format!("https://example.com/{id}"),
            events: events.to_vec(),
            format: WebhookFormat::Full,
            secret: SecretString::from("whsec_c2VjcmV0"),
        };
        self.ledger.outbox().create_endpoint(user, &new).await.unwrap().unwrap();
    }

    /// Creates pending deliveries `{endpoint}_0…` that have been due for a minute.
    pub(crate) async fn pending(&self, user: &UserId, endpoint: &str, many: i64) {
        sqlx::query(
            "insert into webhook_deliveries (user_id, endpoint_id, delivery_id, event, status, next_at, occurred_at) \
             select $1, $2, $2 || '_' || n, 'conversation.completed', 'pending', \
                 clock_timestamp() - interval '1 minute', clock_timestamp() - interval '1 minute' \
             from generate_series(0, $3 - 1) n",
        )
        .bind(user.as_str())
        .bind(endpoint)
        .bind(many)
        .execute(&self.pool)
        .await
        .unwrap();
    }

    /// Claims at most `most` due deliveries.
    pub(crate) async fn claim_deliveries(&self, most: i64) -> Vec<ClaimedDelivery> {
        let policy = DeliveryPolicy::default();
        self.ledger.outbox().claim_deliveries(most, &policy, None).await.unwrap().claimed
    }

    /// Prunes one batch of everything.
    pub(crate) async fn prune(&self, age: Duration, batch: i64) -> Pruned {
        let (pruned, ended) = self.operations().prune(age, batch).await;
        ended.unwrap();
        pruned
    }

    /// A second process over the same database.
    pub(crate) fn other_process(&self) -> Ledger {
        Ledger::new(self.database.options(), Settings::default())
    }
}

/// The operator Olga, and her reason.
pub(crate) fn olga() -> OperatorAction {
    OperatorAction::new("olga", "their outage is over")
}

/// Minutes after 9:00 on a day in March.
pub(crate) fn nine(minute: i64) -> Timestamp {
    "2026-03-02T09:00:00Z".parse::<Timestamp>().unwrap() + chrono::TimeDelta::minutes(minute)
}

/// A segment of one second.
pub(crate) fn segment(id: Option<&str>, speaker: &str, text: &str, start: f64) -> Segment {
    Segment {
        id: id.map(str::to_owned),
        text: text.to_owned(),
        speaker: Some(speaker.to_owned()),
        speaker_id: None,
        is_user: false,
        person_id: None,
        start,
        end: start + 1.0,
    }
}

/// All rows of the tables with a `user_id`, as text, except those of Ann's for which the condition `own(table)`
/// holds; it names the row `t`.
pub(crate) async fn other_rows<'a>(world: &World, own: impl Fn(&str) -> &'a str) -> String {
    let tables: Vec<String> = world
        .list(
            "select table_name::text from information_schema.columns where table_schema = 'public' \
             and column_name = 'user_id' order by 1",
        )
        .await;
    let mut all = String::new();
    for table in tables {
        let own = own(&table);
        let query = format!(
            "select coalesce(jsonb_agg(t order by t::text)::text, '') \
             from (select to_jsonb(r) as t from {table} r) rows \
             where not (t ->> 'user_id' = 'ann' and ({own}))"
        );
        let rows: String = sqlx::query_scalar(AssertSqlSafe(query)).fetch_one(&world.pool).await.unwrap();
        all.push_str(&format!("{table}: {rows}\n"));
    }
    all
}

/// Runs `operation`, and asserts that all rows except those of `own` stay as they were.
pub(crate) async fn changes_only<'a, T>(
    world: &World,
    own: impl Fn(&str) -> &'a str + Copy,
    operation: impl Future<Output = T>,
) -> T {
    let before = other_rows(world, own).await;
    let done = operation.await;
    assert_eq!(before, other_rows(world, own).await);
    done
}

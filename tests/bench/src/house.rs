//! A durable server with a database of the benchmark's own, and a person in it.

use std::time::Duration;

use embedded::{Cluster, Running, default_dir};
use futures::{StreamExt, stream};
use ledger::{Ledger, NewContent, NewConversation, Settings, UserChange};
use records::{ConversationId, Segment, Source, UserId};
use sqlx::{AssertSqlSafe, PgPool, postgres::PgPoolOptions};

/// Connections of the ledger under test.
pub(crate) const CONNECTIONS: u32 = 20;
/// Producers, and runs at once.
pub(crate) const WIDTH: usize = 16;

pub(crate) struct House {
    _running: Running,
    admin: PgPool,
    name: String,
    /// For floors and for looking.
    pub(crate) pool: PgPool,
    pub(crate) ledger: Ledger,
}

impl House {
    pub(crate) async fn build() -> Self {
        let dir = default_dir("listen").expect("a directory for the private database");
        let cluster = Cluster { dir, durable: true, linger: Duration::from_secs(10) };
        let running = cluster.ensure().await.expect("a private database");
        let admin = PgPoolOptions::new().max_connections(1).connect_with(running.options()).await.unwrap();
        let name = format!("bench_{}", std::process::id());
        sqlx::raw_sql(AssertSqlSafe(format!("create database {name}"))).execute(&admin).await.unwrap();
        let options = running.options().database(&name);
        let pool =
            PgPoolOptions::new().max_connections(WIDTH as u32).connect_with(options.clone()).await.unwrap();
        let settings = Settings { connections: CONNECTIONS, ..Settings::default() };
        let ledger = Ledger::new(options, settings);
        ledger.migrate().await.unwrap();
        for number in 0..PEOPLE {
            assert!(ledger.create_user(&person(number), &UserChange::default()).await.unwrap());
        }
        Self { _running: running, admin, name, pool, ledger }
    }

    /// The settings that decide what a commit is worth; the benchmark refuses to run when one is off.
    pub(crate) async fn settings(&self) -> String {
        let mut words = Vec::new();
        for name in ["server_version", "fsync", "synchronous_commit", "full_page_writes"] {
            let value: String = sqlx::query_scalar("select current_setting($1)")
                .bind(name)
                .fetch_one(&self.pool)
                .await
                .unwrap();
            assert_ne!(value, "off", "{name} is off: these figures would be worth nothing");
            words.push(format!("{name} {value}"));
        }
        format!("{}; {WIDTH} producers, {WIDTH} runs at once, {CONNECTIONS} connections", words.join(", "))
    }

    /// (commits, WAL bytes) of the database so far.
    pub(crate) async fn spent(&self) -> (i64, i64) {
        sqlx::raw_sql("select pg_stat_force_next_flush()").execute(&self.pool).await.ok();
        sqlx::query_as(
            "select xact_commit, pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint \
             from pg_stat_database where datname = current_database()",
        )
        .fetch_one(&self.pool)
        .await
        .unwrap()
    }

    /// Stores a conversation that waits for its finalize.
    pub(crate) async fn stored(&self, prefix: &str, number: usize) -> Stored {
        let (user, id) = (person(number), ConversationId::new(format!("{prefix}-{number}")));
        let segment = Segment {
            id: None,
            text: "I need to call the dentist by Friday.".to_owned(),
            speaker: None,
            speaker_id: Some(0),
            is_user: true,
            person_id: None,
            start: 0.0,
            end: 3.0,
        };
        let new = NewConversation {
            id: id.clone(),
            content: NewContent::Segments(vec![segment]),
            started_at: None,
            finished_at: None,
            language: "en".to_owned(),
            source: Source::new("phone"),
            geolocation: None,
            client_session_id: None,
            client_device_id: None,
            client_platform: None,
            deferred: true,
        };
        self.ledger.create_conversation(&user, new).await.unwrap();
        (user, id)
    }

    /// Stores many, `WIDTH` at a time.
    pub(crate) async fn stored_many(&self, prefix: &str, count: usize) -> Vec<Stored> {
        stream::iter(0..count)
            .map(|number| self.stored(prefix, number))
            .buffer_unordered(WIDTH)
            .collect()
            .await
    }

    pub(crate) async fn tear_down(self) {
        self.ledger.close().await;
        self.pool.close().await;
        let drop = format!("drop database if exists {} with (force)", self.name);
        sqlx::raw_sql(AssertSqlSafe(drop)).execute(&self.admin).await.unwrap();
    }
}

/// A conversation with whose it is.
pub(crate) type Stored = (UserId, ConversationId);

/// Work is spread over this many people: one person's completions wait for each other by design.
const PEOPLE: usize = 64;

fn person(number: usize) -> UserId {
    UserId::new(format!("bench-{}", number % PEOPLE))
}

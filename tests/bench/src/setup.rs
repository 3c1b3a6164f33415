//! A durable server with a database of the benchmark's own, and a person in it.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use api::Scope;
use axum::Router;
use embedded::{Cluster, Running, default_dir};
use futures::{StreamExt, stream};
use ledger::{Ledger, NewContent, NewConversation, Settings};
use prometheus::Registry;
use records::{ConversationId, Segment, Source, UserId};
use secrecy::ExposeSecret;
use sqlx::{AssertSqlSafe, ConnectOptions, PgPool, postgres::PgPoolOptions};
use store::{NewKey, UserChange};
use tokio::process::Command;

/// Connections of the ledger under test, as shipped: besides those for renewals and wake-ups.
pub(crate) const CONNECTIONS: u32 = 10;
/// Producers, and runs at once.
pub(crate) const WIDTH: usize = 16;
/// A row of a floor, as pgbench takes it.
pub(crate) const INSERT: &str = "insert into floor (word) values ('one row');\n";

/// The service's router over any ledger, on a port of its own.
pub(crate) async fn serve_on(ledger: &Ledger) -> SocketAddr {
    let settings = api::Settings { rate_per_minute: 0, ..api::Settings::default() };
    serve(router_on(ledger, settings)).await
}

/// The service's router over any ledger.
pub(crate) fn router_on(ledger: &Ledger, settings: api::Settings) -> Router {
    let metrics = api::Metrics::register(&Registry::new()).unwrap();
    api::router(ledger.clone(), Arc::new(|_| true), settings, metrics)
}

/// Serves on a port of its own, until the benchmark ends.
pub(crate) async fn serve(router: Router) -> SocketAddr {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await });
    address
}

pub(crate) struct Setup {
    running: Running,
    admin: PgPool,
    name: String,
    /// For floors and for looking.
    pub(crate) pool: PgPool,
    pub(crate) ledger: Ledger,
}

impl Setup {
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
        ledger.db().migrate().await.unwrap();
        for number in 0..PEOPLE {
            assert!(ledger.store().create_user(&person(number), &UserChange::default()).await.unwrap());
        }
        Self { running, admin, name, pool, ledger }
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
        format!(
            "{}; {WIDTH} producers, {WIDTH} runs at once, {CONNECTIONS} + 3 connections",
            words.join(", ")
        )
    }

    /// What was spent so far.
    pub(crate) async fn spent(&self) -> Spent {
        sqlx::raw_sql("select pg_stat_force_next_flush()").execute(&self.pool).await.ok();
        let (commits, wal): (i64, i64) = sqlx::query_as(
            "select xact_commit, pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint \
             from pg_stat_database where datname = current_database()",
        )
        .fetch_one(&self.pool)
        .await
        .unwrap();
        let (own_cpu, server_cpu) = (cpu_of("self"), self.server_cpu());
        Spent { commits: commits as f64, wal: wal as f64, own_cpu, server_cpu }
    }

    /// Milliseconds that the server and everything that it started have computed.
    pub(crate) fn server_cpu(&self) -> f64 {
        let pid_file =
            std::fs::read_to_string(self.running.data_dir().join("postmaster.pid")).unwrap_or_default();
        let postmaster = pid_file.lines().next().unwrap_or_default().to_owned();
        let children = format!("/proc/{postmaster}/task/{postmaster}/children");
        let children = std::fs::read_to_string(children).unwrap_or_default();
        cpu_of(&postmaster) + children.split_whitespace().map(cpu_of).sum::<f64>()
    }

    /// A second ledger over the same database, as another process has one.
    pub(crate) fn other_process(&self) -> Ledger {
        Ledger::new(
            self.running.options().database(&self.name),
            Settings { connections: CONNECTIONS, ..Settings::default() },
        )
    }

    /// Makes an empty database of that name and gives its URL; one that was there is gone.
    pub(crate) async fn empty_database(&self, name: &str) -> String {
        let name = format!("{}_{name}", self.name);
        let drop = format!("drop database if exists {name} with (force)");
        sqlx::raw_sql(AssertSqlSafe(drop)).execute(&self.admin).await.unwrap();
        sqlx::raw_sql(AssertSqlSafe(format!("create database {name}"))).execute(&self.admin).await.unwrap();
        self.running.url_of(&name)
    }

    /// The URL of the database under test.
    pub(crate) fn url(&self) -> String {
        self.running.url_of(&self.name)
    }

    /// Runs a statement on a database that [`empty_database`](Self::empty_database) made.
    pub(crate) async fn run_on(&self, name: &str, sql: &'static str) {
        let options = self.running.options().database(&format!("{}_{name}", self.name));
        let mut session = options.connect().await.unwrap();
        sqlx::raw_sql(sql).execute(&mut session).await.unwrap();
    }

    /// Where the write-ahead log ends, and how many transactions have written: exact at any moment, while the statistics
    /// that sessions report come up to ten seconds late.
    pub(crate) async fn written(&self) -> (f64, f64) {
        let (wal, writes): (i64, i64) = sqlx::query_as(
            "select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint, \
                 pg_snapshot_xmax(pg_current_snapshot())::text::bigint",
        )
        .fetch_one(&self.pool)
        .await
        .unwrap();
        (wal as f64, writes as f64)
    }

    /// Drops a database that [`empty_database`](Self::empty_database) made.
    pub(crate) async fn drop_database(&self, name: &str) {
        let drop = format!("drop database if exists {}_{name} with (force)", self.name);
        sqlx::raw_sql(AssertSqlSafe(drop)).execute(&self.admin).await.unwrap();
    }

    /// What pgbench makes of a script a second, prepared, from as many clients, for as long as `length` says.
    pub(crate) async fn pgbench(&self, url: &str, script: &str, length: &str) -> f64 {
        let file = std::env::temp_dir().join(format!("listen-bench-{}.sql", std::process::id()));
        std::fs::write(&file, script).unwrap();
        let ran = Command::new(self.running.bin_dir().join("pgbench"))
            .args(["--no-vacuum", "--protocol=prepared", "--jobs=2", length])
            .arg(format!("--client={WIDTH}"))
            .arg("--file")
            .arg(&file)
            .arg(url)
            .output()
            .await
            .expect("pgbench comes with the server's programs");
        std::fs::remove_file(file).unwrap();
        let said = String::from_utf8_lossy(&ran.stdout).into_owned();
        let rate = said.lines().find_map(|line| line.strip_prefix("tps = "));
        rate.and_then(|rate| rate.split(' ').next()?.parse().ok())
            .unwrap_or_else(|| panic!("pgbench said: {said}{}", String::from_utf8_lossy(&ran.stderr)))
    }

    /// Drops all jobs, so that no table stands on another's leftovers.
    pub(crate) async fn forget_jobs(&self) {
        for statement in [
            "truncate finalization_jobs cascade",
            "update finalization_totals set jobs = 0",
            "delete from dead_letter_totals",
            "vacuum",
        ] {
            sqlx::raw_sql(statement).execute(&self.pool).await.unwrap();
        }
    }

    /// A key of each person, in their order.
    pub(crate) async fn keys(&self) -> Vec<String> {
        keys_in(&self.ledger).await
    }

    /// Stores a conversation that waits for its finalize.
    pub(crate) async fn stored(&self, prefix: &str, number: usize) -> Stored {
        store_in(&self.ledger, prefix, number).await
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
        self.ledger.db().close().await;
        self.pool.close().await;
        for suffix in ["", "_peer", "_floor"] {
            let drop = format!("drop database if exists {}{suffix} with (force)", self.name);
            sqlx::raw_sql(AssertSqlSafe(drop)).execute(&self.admin).await.unwrap();
        }
    }
}

/// A key of each person, in their order.
pub(crate) async fn keys_in(ledger: &Ledger) -> Vec<String> {
    let mut keys = Vec::new();
    for number in 0..PEOPLE {
        let random = std::array::from_fn(|byte| (byte * 7 + number) as u8);
        keys.push(key_of(ledger, &person(number), random, &[Scope::ConversationsWrite]).await);
    }
    keys
}

/// A new key of a user, with these scopes.
pub(crate) async fn key_of(ledger: &Ledger, user: &UserId, random: [u8; 32], scopes: &[Scope]) -> String {
    let made = api::keys::generate(random, ledger.db().shard());
    let key = NewKey {
        id: made.hint.clone(),
        name: "bench".to_owned(),
        prefix: made.hint,
        sha256: made.sha256,
        scopes: scopes.iter().map(|scope| scope.as_str().to_owned()).collect(),
        expires_at: None,
    };
    assert!(ledger.store().create_key(user, &key).await.unwrap());
    made.plaintext.expose_secret().to_owned()
}

/// Stores a conversation that waits for its finalize.
pub(crate) async fn store_in(ledger: &Ledger, prefix: &str, number: usize) -> Stored {
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
    let words = NewContent::Segments(vec![segment]);
    let new =
        NewConversation { deferred: true, ..NewConversation::new(id.clone(), words, Source::new("phone")) };
    ledger.create_conversation(&user, new, None).await.unwrap();
    (user, id)
}

/// What a process and its server have spent.
pub(crate) struct Spent {
    pub(crate) commits: f64,
    /// Bytes of write-ahead log.
    pub(crate) wal: f64,
    /// Milliseconds of processor.
    pub(crate) own_cpu: f64,
    pub(crate) server_cpu: f64,
}

/// Milliseconds that a process and the children that it has waited for have computed; 0 where there is no `/proc`.
pub(crate) fn cpu_of(process: &str) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // The name is in brackets and may hold anything; utime, stime, cutime and cstime are fields 14 to 17.
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks: f64 = fields.skip(11).take(4).filter_map(|ticks| ticks.parse::<f64>().ok()).sum();
    // A tick is a hundredth of a second on every Linux that there is (USER_HZ).
    ticks * 10.0
}

/// A conversation with whose it is.
pub(crate) type Stored = (UserId, ConversationId);

/// Work is spread over this many people: one person's completions wait for each other by design.
pub(crate) const PEOPLE: usize = 64;

pub(crate) fn person(number: usize) -> UserId {
    UserId::new(format!("bench-{}", number % PEOPLE))
}

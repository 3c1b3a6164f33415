//! Databases for tests: each test has one of its own, cut in about 10 ms from a migrated template.
//!
//! They live in a private PostgreSQL without `fsync`, in memory where `/dev/shm` has room. All test
//! processes share it (cargo's threads, nextest's processes), the first one starts it, and it stops
//! ten seconds after the last. Where `TEST_DATABASE_URL` is set, that server is used instead; its
//! user must be a superuser, or may create databases and has the same rights on `postgres`.
//!
//! ```no_run
//! # async fn example() {
//! let database = testbed::TestDatabase::new().await;
//! let pool = database.pool(4).await;
//! # }
//! ```
#![allow(
    clippy::panic,
    clippy::expect_used,
    reason = "for tests only: without a database a test cannot go on"
)]

mod app_server;
mod bed;
mod behind;
mod blocked_connection;
mod concurrently;
mod directory;
mod leftovers;
mod template;

use std::{future::Future, time::Duration};

use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{AssertSqlSafe, Connection, PgConnection, PgPool};
use tokio::task::JoinSet;

pub use app_server::{AppServer, Received, tool};
use bed::Bed;
pub use behind::Behind;
pub use blocked_connection::Wall;
pub use concurrently::{at_once, both_at_once};
pub use directory::empty_directory;

/// How long anybody waits for what must come.
const PATIENCE: Duration = Duration::from_secs(30);

/// A database of one test's own. Dropping it drops the database, best effort: what a killed test
/// leaves behind goes when the next test process starts.
#[derive(Debug)]
pub struct TestDatabase {
    name: String,
    bed: &'static Bed,
}

impl TestDatabase {
    /// A database with the schema of `migrations/` and no rows.
    ///
    /// # Panics
    /// Where there is no PostgreSQL; the message says what to do.
    pub async fn new() -> Self {
        Self::make(|bed| template::clone_of_migrated(bed, bed.next_name())).await
    }

    /// A database without any schema, for tests of the migrations.
    ///
    /// # Panics
    /// As [`TestDatabase::new`].
    pub async fn empty() -> Self {
        Self::make(|bed| template::empty(bed, bed.next_name())).await
    }

    /// A copy of this database with its rows; no session may be connected to it meanwhile.
    ///
    /// # Panics
    /// As [`TestDatabase::new`], and when a session is still connected after five seconds.
    pub async fn copy(&self) -> Self {
        let template = self.name.clone();
        Self::make(|bed| template::copy(bed, bed.next_name(), template)).await
    }

    async fn make<F>(make: impl FnOnce(&'static Bed) -> F + Send + 'static) -> Self
    where
        F: Future<Output = String> + Send + 'static,
    {
        // On the bed's own runtime: a test's runtime ends before the next test wants the connections.
        let made = bed::runtime().spawn(async {
            let bed = bed::get().await;
            Self { name: make(bed).await, bed }
        });
        made.await.expect("the test database could not be made")
    }

    /// Its name, such as `t_4711_1`: the number of the process that made it, and a count.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// For programs under test, as a value of `DATABASE_URL`.
    pub fn url(&self) -> String {
        self.bed.url_of(&self.name)
    }

    /// How to connect.
    pub fn options(&self) -> PgConnectOptions {
        self.bed.options().database(&self.name)
    }

    /// A pool of at most `max` connections, on the runtime of the test that calls it.
    ///
    /// # Panics
    /// Where the server refuses the first connection.
    pub async fn pool(&self, max: u32) -> PgPool {
        let pool = PgPoolOptions::new().max_connections(max).connect_with(self.options()).await;
        pool.expect("the test database takes no connection")
    }

    /// A test's own way in, of at most `max` connections.
    pub async fn behind(&self, max: u32) -> Behind {
        Behind { pool: self.pool(max).await }
    }

    /// Runs a statement of a test's own words, for crates that speak no SQL.
    ///
    /// # Panics
    /// Where the server refuses the connection or the statement.
    pub async fn run(&self, sql: &str) {
        let ran = sqlx::raw_sql(AssertSqlSafe(sql.to_owned())).execute(&self.pool(1).await).await;
        ran.expect("the test database refuses a statement");
    }

    /// A transaction that began with these statements and holds what they locked until it ends; dropping the connection
    /// rolls it back.
    ///
    /// # Panics
    /// As [`TestDatabase::run`].
    pub async fn hold_locks(&self, sql: &str) -> PgConnection {
        let session = PgConnection::connect_with(&self.options()).await;
        let mut session = session.expect("the test database takes no connection");
        let began = sqlx::raw_sql(AssertSqlSafe(format!("begin; {sql}"))).execute(&mut session).await;
        began.expect("the test database refuses a statement");
        session
    }

    /// Runs `statements`, one after the other, in a session of its own that has ended: what it read and wrote is counted by
    /// the server when this returns, and not while a test measures what comes next.
    ///
    /// # Panics
    /// When the server refuses one of them.
    pub async fn seed(&self, statements: &[&str]) {
        let session = PgConnection::connect_with(&self.options().application_name("seed")).await;
        let mut session = session.expect("the test database takes no connection");
        for sql in statements {
            let done = sqlx::raw_sql(AssertSqlSafe(*sql)).execute(&mut session).await;
            done.expect("the test database refuses a statement");
        }
        session.close().await.expect("the test database lets a session go");
        self.until_nobody_is("seed").await;
    }

    /// What `verb` answers when it comes behind `sql`, which holds what the verb needs and is committed once the verb waits
    /// for it.
    ///
    /// # Panics
    /// As [`TestDatabase::hold_locks`] and [`TestDatabase::until_somebody_waits`].
    pub async fn overtaken_by<T>(&self, sql: &str, verb: impl Future<Output = T>) -> T {
        let mut faster = self.hold_locks(sql).await;
        let overtaking = async {
            self.until_somebody_waits().await;
            sqlx::raw_sql("commit").execute(&mut faster).await.expect("the test database commits");
        };
        tokio::join!(verb, overtaking).0
    }

    /// Until a session waits for a lock.
    ///
    /// # Panics
    /// When no session does for half a minute.
    pub async fn until_somebody_waits(&self) {
        self.until_as_many_wait(1).await;
    }

    /// Until at least so many wait for a lock at the same moment.
    ///
    /// # Panics
    /// When they do not for half a minute.
    pub async fn until_as_many_wait(&self, many: u32) {
        const ARE_WAITING: &str = "select count(*) >= $1 from pg_stat_activity \
            where datname = $2 and wait_event_type = 'Lock'";
        let (bed, name) = (self.bed, self.name.clone());
        // On the bed's own runtime, whose connections it uses; it is aborted when `watching` is dropped.
        let mut watching = JoinSet::new();
        let watch = async move {
            let are_waiting = || {
                let are_waiting = sqlx::query_scalar(ARE_WAITING).bind(i64::from(many)).bind(name.clone());
                are_waiting.fetch_one(&bed.watcher)
            };
            until(are_waiting, "too few wait for a lock").await;
        };
        watching.spawn_on(watch, bed::runtime().handle());
        watching.join_next().await.expect("it was begun").expect("too few wait for a lock");
    }

    /// Until the server has ended the sessions of that application: their locks are free, their counts are written.
    ///
    /// # Panics
    /// When the server does not answer, or a session is still there after half a minute.
    pub async fn until_nobody_is(&self, application: &str) {
        const NOBODY_IS: &str = "select not exists (select from pg_stat_activity \
            where application_name = $1 and datname = current_database())";
        let pool = self.pool(1).await;
        let nobody_is = || sqlx::query_scalar(NOBODY_IS).bind(application).fetch_one(&pool);
        until(nobody_is, "somebody is still there").await;
        let session = pool.acquire().await.expect("the tests' PostgreSQL takes no connection");
        if session.server_version_num().unwrap_or(0) < 150_000 {
            // There a process of its own collects the counts, and answers with counts of up to half a second ago.
            tokio::time::sleep(Duration::from_millis(600)).await;
        }
    }
}

/// Asks until it is so; half a minute later `else_` is what is wrong.
async fn until<F: Future<Output = Result<bool, sqlx::Error>>>(is_so: impl Fn() -> F, else_: &str) {
    let so = async {
        while !is_so().await.expect("the server tells who is there") {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(PATIENCE, so).await.expect(else_);
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        let (bed, statement) = (self.bed, format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name));
        let (done, wait) = std::sync::mpsc::channel();
        bed::runtime().spawn(async move {
            // A failure only leaves work for the next process's start.
            let _left_for_later = sqlx::raw_sql(AssertSqlSafe(statement)).execute(&bed.admin).await;
            let _receiver_gone = done.send(());
        });
        // The process may end right after this, and would take the statement with it.
        let _until_dropped = wait.recv_timeout(Duration::from_secs(10));
    }
}

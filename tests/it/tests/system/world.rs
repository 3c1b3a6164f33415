//! A database with one user and a key, and sample conversations.

use sqlx::PgConnection;
use testbed::TestDatabase;

use crate::binary::printed;
use crate::client::Client;
use crate::process::Process;

/// Kept conversations with things to do: the embedded engine finds items in them.
pub(crate) const GARDEN: &[&str] = &[
    "Let's plan the garden for spring.",
    "The apple tree needs pruning, and the shed has a hole in the roof.",
    "I will order new roof tiles by Friday.",
    "Can you ask the neighbour about the ladder on Saturday?",
    "Yes. I love gardening, my favourite flowers are dahlias.",
    "We need to empty the rain barrel before the first frost.",
];

/// The database that several processes share.
pub(crate) struct World {
    // Dropped with the test, and the database with it.
    database: TestDatabase,
    /// For `DATABASE_URL`.
    pub(crate) url: String,
    key: String,
}

impl World {
    /// A migrated database with the person `u1`, who has an app, and a key of hers; made by the commands.
    pub(crate) async fn new() -> Self {
        let database = TestDatabase::new().await;
        let url = database.url();
        printed(&url, &["users", "create", "--id", "u1", "--apps", "minutes"]);
        let key = printed(&url, &["keys", "create", "--user", "u1"]);
        Self { database, url, key }
    }

    /// The person as a client of `process`.
    pub(crate) fn client(&self, process: &Process) -> Client {
        Client::new(&process.api, &self.key)
    }

    /// One number that the database answers.
    pub(crate) async fn count(&self, query: &'static str) -> i64 {
        let pool = self.database.pool(1).await;
        let counted = sqlx::query_scalar(query).fetch_one(&pool).await.expect("the query is good");
        pool.close().await;
        counted
    }

    /// A transaction that holds what `sql` locked until it is dropped.
    pub(crate) async fn hold_locks(&self, sql: &str) -> PgConnection {
        self.database.hold_locks(sql).await
    }

    /// Until a session waits for what [`hold_locks`](Self::hold_locks) holds.
    pub(crate) async fn until_a_session_waits(&self) {
        self.database.until_somebody_waits().await;
    }

    /// Every row of every table, as text.
    pub(crate) async fn dump_all(&self) -> String {
        let named = "select table_name::text from information_schema.tables where table_schema = 'public'";
        let tables = self.texts(named).await;
        assert!(tables.len() > 10, "the tables were found");
        let mut rows = Vec::new();
        for table in tables {
            rows.extend(self.texts(&format!("select t::text from \"{table}\" t")).await);
        }
        rows.join("\n")
    }

    /// Makes every queued job due now.
    pub(crate) async fn make_all_due(&self) {
        self.run(
            "update finalization_jobs set version = version + 1, ready_at = clock_timestamp() \
             where status = 'queued'",
        )
        .await;
    }

    /// Changes the database past the service.
    pub(crate) async fn run(&self, statements: &str) {
        self.database.run(statements).await;
    }

    /// A column of text that the database answers.
    pub(crate) async fn texts(&self, query: &str) -> Vec<String> {
        let pool = self.database.pool(1).await;
        let query = sqlx::AssertSqlSafe(query.to_owned());
        let rows: Vec<Option<String>> =
            sqlx::query_scalar(query).fetch_all(&pool).await.expect("the query is good");
        pool.close().await;
        rows.into_iter().flatten().collect()
    }

    /// The same, as one text.
    pub(crate) async fn dump(&self, query: &str) -> String {
        self.texts(query).await.join("\n")
    }

    /// The person's key, which no log may hold.
    pub(crate) fn key(&self) -> &str {
        &self.key
    }
}

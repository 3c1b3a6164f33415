//! A database with a person and her key, and words that the tests are about.

use testbed::TestDatabase;

use crate::binary::told;
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

/// What several processes share.
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
        told(&url, &["users", "create", "--id", "u1", "--apps", "minutes"]);
        let key = told(&url, &["keys", "create", "--user", "u1"]);
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

    /// Every row of every table, as text.
    pub(crate) async fn dump(&self) -> String {
        let pool = self.database.pool(1).await;
        let named = "select table_name::text from information_schema.tables where table_schema = 'public'";
        let tables: Vec<String> =
            sqlx::query_scalar(named).fetch_all(&pool).await.expect("tables have names");
        assert!(tables.len() > 10, "the tables were found");
        let mut rows = Vec::new();
        for table in tables {
            let all = sqlx::AssertSqlSafe(format!("select t::text from \"{table}\" t"));
            rows.extend(sqlx::query_scalar::<_, String>(all).fetch_all(&pool).await.expect("rows are texts"));
        }
        pool.close().await;
        rows.join("\n")
    }

    /// The person's key, which no log may hold.
    pub(crate) fn key(&self) -> &str {
        &self.key
    }
}

//! Direct access of a test to its database.

use sqlx::{FromRow, PgPool, postgres::PgRow};

/// Runs statements and queries of the test in its database.
#[derive(Debug)]
pub struct Behind {
    /// For what the rest of this cannot say.
    pub pool: PgPool,
}

impl Behind {
    /// Runs statements as they are.
    pub async fn run(&self, sql: &'static str) {
        sqlx::raw_sql(sql).execute(&self.pool).await.expect("the test database refuses a statement");
    }

    /// One number.
    pub async fn count(&self, sql: &'static str) -> i64 {
        self.value(sql).await
    }

    /// The only column of the only row.
    pub async fn value<T>(&self, sql: &'static str) -> T
    where
        (T,): for<'r> FromRow<'r, PgRow>,
        T: Send + Unpin,
    {
        self.row::<(T,)>(sql).await.0
    }

    /// The only column of every row.
    pub async fn list<T>(&self, sql: &'static str) -> Vec<T>
    where
        (T,): for<'r> FromRow<'r, PgRow>,
        T: Send + Unpin,
    {
        self.rows::<(T,)>(sql).await.into_iter().map(|(value,)| value).collect()
    }

    /// The only row.
    pub async fn row<R: for<'r> FromRow<'r, PgRow> + Send + Unpin>(&self, sql: &'static str) -> R {
        sqlx::query_as(sql).fetch_one(&self.pool).await.expect("the test database refuses a question")
    }

    /// Every row.
    pub async fn rows<R: for<'r> FromRow<'r, PgRow> + Send + Unpin>(&self, sql: &'static str) -> Vec<R> {
        sqlx::query_as(sql).fetch_all(&self.pool).await.expect("the test database refuses a question")
    }

    /// Scans of a table since the database was made: sequential ones, and those of one index.
    pub async fn scans(&self, table: &str, index: &str) -> (i64, i64) {
        let scans = sqlx::query_as(
            "select t.seq_scan, i.idx_scan from pg_stat_user_tables t join pg_stat_user_indexes i using (relid) \
             where t.relname = $1 and i.indexrelname = $2",
        );
        let counted = scans.bind(table).bind(index).fetch_one(&self.pool).await;
        counted.expect("there are such a table and such an index")
    }
}

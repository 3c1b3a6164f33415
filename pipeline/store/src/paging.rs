//! How lists are cut into pages.

use db::{Doing, Error};
use records::Timestamp;
use sqlx::{FromRow, Postgres, QueryBuilder, postgres::PgRow};

use crate::Store;

/// Bounds on `created_at`, both inclusive, with offset paging.
#[derive(Clone, Debug, Default)]
pub struct DatePage {
    /// Not before.
    pub start: Option<Timestamp>,
    /// Not after.
    pub end: Option<Timestamp>,
    /// At most this many.
    pub limit: i64,
    /// Skip this many.
    pub offset: i64,
}

impl Store {
    /// The rows of a list's statement.
    pub(crate) async fn rows_of<R>(
        &self,
        mut list: QueryBuilder<Postgres>,
        doing: &'static str,
    ) -> Result<Vec<R>, Error>
    where
        R: for<'r> FromRow<'r, PgRow> + Send + Unpin,
    {
        list.build_query_as().fetch_all(self.db.pool()).await.doing(doing)
    }
}

/// Ends a list's statement. The number of rows stands in its text and not among its parameters: the server keeps one plan
/// for a statement, and one for any number of rows is made for a tenth of the table, and reads what hangs on it
/// whole.
pub(crate) fn push_rows(query: &mut QueryBuilder<Postgres>, limit: i64, offset: i64) {
    query.push(" limit ").push(limit);
    if offset > 0 {
        query.push(" offset ").push_bind(offset);
    }
}

//! How lists are cut into pages.

use db::{After, Error};
use futures::{TryStreamExt, stream::BoxStream};
use records::Timestamp;
use sqlx::{Postgres, QueryBuilder};

/// Memory is reserved for so many bytes of words at a time.
const RESERVED: usize = 64 * 1024;

/// Bounds on `created_at`, both inclusive, with offset paging.
#[derive(Clone, Debug, Default)]
pub struct DatePage {
    /// Not before.
    pub start: Option<Timestamp>,
    /// Not after.
    pub end: Option<Timestamp>,
    pub limit: i64,
    /// Skip this many; of a page that goes on `after` a row, none.
    pub offset: i64,
    /// Go on after this row.
    pub after: Option<After>,
}

impl DatePage {
    /// How many rows are read and not shown.
    pub(crate) fn skipped(&self) -> i64 {
        if self.after.is_some() { 0 } else { self.offset }
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

/// Ends the statement of a page, as [`push_rows`] does.
pub(crate) fn push_page(query: &mut QueryBuilder<Postgres>, page: &DatePage) {
    push_rows(query, page.limit, page.skipped());
}

/// The condition that a row comes behind `after` in a list that is ordered by `created_at desc` and then by `position`, a pair of
/// position and id.
pub(crate) fn push_after(query: &mut QueryBuilder<Postgres>, after: Option<&After>, position: &'static str) {
    let Some(after) = after else { return };
    query.push(" and created_at <= ").push_bind(after.created_at);
    query.push(" and (created_at < ").push_bind(after.created_at);
    query.push(" or ").push(position).push(" > (").push_bind(after.position);
    query.push(", ").push_bind(after.id.clone()).push("))");
}

/// Loads `rows`, and asks `reserve` for the memory of their `words` while they come in. Where it refuses, loading ends with its
/// refusal.
pub(crate) async fn load_within<Row, T, R>(
    mut rows: BoxStream<'_, Result<Row, sqlx::Error>>,
    of_row: impl Fn(Row) -> Result<T, Error>,
    words: impl Fn(&T) -> usize,
    mut reserve: impl FnMut(usize) -> Result<(), R>,
) -> Result<Result<Vec<T>, R>, Error> {
    let (mut loaded, mut unreserved) = (Vec::new(), 0);
    while let Some(row) = rows.try_next().await? {
        let one = of_row(row)?;
        unreserved += words(&one);
        if unreserved >= RESERVED
            && let Err(refused) = reserve(std::mem::take(&mut unreserved))
        {
            return Ok(Err(refused));
        }
        loaded.push(one);
    }
    Ok(Ok(loaded))
}

//! Pages: of a walk through all rows of a kind, a bounded page a call, and of the lists that clients read.

use chrono::TimeDelta;
use job::Timestamp;
use records::UserId;

/// How far a walk has come: the row that was looked at last.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct Cursor {
    /// What the walk is ordered by.
    pub at: Timestamp,
    pub user_id: UserId,
    pub id: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeysetPage<T> {
    pub found: Vec<T>,
    /// Where the next page begins; `None` behind the last one.
    pub next: Option<Cursor>,
}

impl<Id> KeysetPage<(UserId, Id)> {
    /// Of rows that are nothing but their places.
    pub fn of(rows: Vec<Cursor>, limit: i64, id: impl Fn(String) -> Id) -> Self {
        let next = next_cursor(rows.len(), limit, rows.last());
        Self { found: rows.into_iter().map(|row| (row.user_id, id(row.id))).collect(), next }
    }
}

/// A cursor as a statement's parameters; all `None` before the first page.
pub type Bound<'a> = (Option<Timestamp>, Option<&'a str>, Option<&'a str>);

/// What a statement compares with.
pub fn bound(cursor: Option<&Cursor>) -> Bound<'_> {
    match cursor {
        Some(cursor) => (Some(cursor.at), Some(cursor.user_id.as_str()), Some(&cursor.id)),
        None => (None, None, None),
    }
}

/// The cursor behind a page of at most `limit` rows, unless it was the last.
pub fn next_cursor(page: usize, limit: i64, last: Option<&Cursor>) -> Option<Cursor> {
    last.filter(|_| i64::try_from(page).is_ok_and(|page| page >= limit)).cloned()
}

/// The moment before which things are old; an age beyond all calendars makes nothing old.
pub fn cutoff(now: Timestamp, age: TimeDelta) -> Timestamp {
    now.checked_sub_signed(age).unwrap_or(Timestamp::UNIX_EPOCH)
}

/// The last row of a page, by what its list is ordered by: newest first, then by place and id. It need not exist any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct After {
    pub created_at: Timestamp,
    /// Its place among those of the same moment; 0 where a list knows none.
    pub position: i32,
    pub id: String,
}

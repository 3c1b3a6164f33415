//! Reading what hangs on many conversations, of many people, in one statement per table.

use futures::TryStreamExt;
use records::{ConversationId, UserId};
use sqlx::{
    FromRow, PgConnection, Postgres, Row,
    postgres::{PgArguments, PgRow},
    query::Query,
};

use db::{Doing, Error};

/// How many bytes of words one reading holds at most: some pages of the longest talks, and every page of usual ones.
pub const MOST_WORDS: usize = 32 * 1024 * 1024;

/// Some conversations of a batch: whose, which, and their places in it.
#[derive(Default)]
pub struct Keys<'a> {
    users: Vec<&'a str>,
    conversations: Vec<&'a str>,
    places: Vec<i64>,
}

impl<'a> Keys<'a> {
    pub(crate) fn of(
        conversations: impl IntoIterator<Item = (usize, &'a UserId, &'a ConversationId)>,
    ) -> Self {
        let mut keys = Self::default();
        for (place, user, conversation) in conversations {
            keys.users.push(user.as_str());
            keys.conversations.push(conversation.as_str());
            keys.places.push(i64::try_from(place).unwrap_or(i64::MAX));
        }
        keys
    }

    /// A statement with these as its three parameters.
    pub(crate) fn ask<'q>(&'q self, sql: &'static str) -> Query<'q, Postgres, PgArguments> {
        sqlx::query(sql).bind(&self.users).bind(&self.conversations).bind(&self.places)
    }
}

/// The values of an aggregated column, one after the other; none where there was nothing to aggregate.
pub fn column<T>(values: Option<Vec<T>>) -> std::vec::IntoIter<T> {
    values.unwrap_or_default().into_iter()
}

/// A batch while it is read: what was found of each, in the order of the batch.
pub struct Reading<'c, T> {
    connection: &'c mut PgConnection,
    doing: &'static str,
    found: Vec<T>,
}

impl<'c, T: Default> Reading<'c, T> {
    pub(crate) fn new(connection: &'c mut PgConnection, size: usize, doing: &'static str) -> Self {
        Self { connection, doing, found: (0..size).map(|_| T::default()).collect() }
    }

    /// Reads the rows of one table and gives each to the conversation at its `place`, in the order of the statement.
    /// An empty list makes no query.
    pub(crate) async fn each<R>(
        &mut self,
        keys: &Keys<'_>,
        sql: &'static str,
        mut give: impl FnMut(&mut T, R),
    ) -> Result<(), Error>
    where
        R: for<'r> FromRow<'r, PgRow> + Send + Unpin,
    {
        self.each_while(keys, sql, |found, row| {
            give(found, row);
            true
        })
        .await
    }

    /// The same while `give` says so; the rows come one by one, and none is kept beside what was made of it.
    ///
    /// # Errors
    /// [`Error::TooMuch`] when `give` said no, besides those of reading.
    pub(crate) async fn each_while<R>(
        &mut self,
        keys: &Keys<'_>,
        sql: &'static str,
        mut give: impl FnMut(&mut T, R) -> bool,
    ) -> Result<(), Error>
    where
        R: for<'r> FromRow<'r, PgRow> + Send + Unpin,
    {
        if keys.places.is_empty() {
            return Ok(());
        }
        let mut rows = keys.ask(sql).fetch(&mut *self.connection);
        while let Some(row) = rows.try_next().await.doing(self.doing)? {
            let place: i64 = row.try_get("place").doing(self.doing)?;
            let found = usize::try_from(place).ok().and_then(|place| self.found.get_mut(place));
            if let Some(found) = found
                && !give(found, R::from_row(&row).doing(self.doing)?)
            {
                return Err(Error::TooMuch { doing: self.doing });
            }
        }
        Ok(())
    }

    /// What was found so far.
    pub(crate) fn so_far(&self) -> &[T] {
        &self.found
    }

    /// What was found.
    pub(crate) fn found(self) -> Vec<T> {
        self.found
    }
}

//! Requests that create are done once for each name that a client gave them (DECISIONS §3, "Idempotency-Key").

use chrono::TimeDelta;
use records::{Timestamp, UserId};
use sqlx::{PgConnection, Postgres, Transaction};

use crate::{Db, error::Error, query, query_as};

/// How long a name is known.
const KNOWN_FOR: TimeDelta = TimeDelta::hours(24);

/// Longer than a request waits for what it began (a create waits below 55 s): afterwards it runs no more, whether
/// its answer was stored or not.
const RUNS_FOR: TimeDelta = TimeDelta::seconds(60);

/// Rows that are deleted at once before what they belong to.
const ROWS: i64 = 2_000;

/// The name of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestKey {
    pub user: UserId,
    /// The route's pattern: a name counts for one route.
    pub route: String,
    /// The client's own text.
    pub key: String,
    /// SHA-256 of the body.
    pub fingerprint: [u8; 32],
}

/// What is known of a request that was made before under the same name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Repeat {
    OtherBody,
    /// It made something and may still be running; whole seconds, at least 1, after which it is not.
    Running(u64),
    Answered {
        status: u16,
        /// The body, JSON.
        answer: String,
    },
    /// It made these things, and its answer was lost.
    Made(Vec<String>),
}

impl Db {
    /// A handle whose next creating operation notes, in its own transaction, that this request made what it makes.
    #[must_use]
    pub fn under_key(&self, key: RequestKey) -> Self {
        let mut keyed = self.clone();
        keyed.request_key = Some(key.into());
        keyed
    }

    /// What is known of the request; `None`: it was never made, or its name is a day old.
    pub async fn repeat_of(&self, key: &RequestKey) -> Result<Option<Repeat>, Error> {
        let mut connection = self.pool.acquire().await?;
        known(&mut connection, key).await
    }

    /// Notes that a request whose name was noted was answered, and keeps the answer, a status and a body: of any other nothing
    /// is kept, nor when what it made was deleted meanwhile. `None`: the answer is not kept, because it holds a whole
    /// transcript, and from now on a repeat finds [`Repeat::Made`].
    pub async fn store_answer(&self, key: &RequestKey, answer: Option<(u16, &str)>) -> Result<(), Error> {
        query!(
            "idempotency/store_answer.sql",
            &key.user,
            &key.route,
            &key.key,
            key.fingerprint.as_slice(),
            answer.map(|(status, _)| i16::try_from(status).unwrap_or(i16::MAX)),
            answer.map(|(_, body)| body)
        )
        .execute(&self.pool)
        .await?;
        Ok(())
    }

    /// Whether this handle notes a request's name ([`Db::under_key`]).
    pub fn has_request_key(&self) -> bool {
        self.request_key.is_some()
    }

    /// Begins an operation that makes `made`. Under a request's name (`under_key`) the name is noted first, with
    /// what is made, and lives or dies with the transaction.
    pub async fn begin_creating(
        &self,
        made: &[&str],
    ) -> Result<(Transaction<'static, Postgres>, Timestamp), Error> {
        let (mut transaction, now) = self.begin().await?;
        if let Some(key) = &self.request_key
            && !note(&mut transaction, key, made, now).await?
        {
            return Err(Error::Repeated);
        }
        Ok((transaction, now))
    }

    /// Deletes or revokes something of a user's, by the statement that takes the user and its id, and forgets what was answered of it.
    /// `false`: there is no such thing.
    pub async fn delete_of_user(
        &self,
        statement: &'static str,
        user: &UserId,
        id: &str,
    ) -> Result<bool, Error> {
        let (mut transaction, _) = self.begin().await?;
        let deleted = sqlx::query(statement).bind(user).bind(id).execute(&mut *transaction).await?;
        forget_answers(&mut transaction, user, &[id]).await?;
        transaction.commit().await?;
        Ok(deleted.rows_affected() > 0)
    }

    /// The same of something to which very many rows belong: whole batches of them go first, each in a transaction of its own, by `rows`,
    /// which takes the user, the id and how many. The last ones go with what they belong to, whose row is locked before theirs.
    pub async fn delete_with_rows(
        &self,
        rows: &'static str,
        statement: &'static str,
        user: &UserId,
        id: &str,
    ) -> Result<bool, Error> {
        loop {
            let (mut transaction, _) = self.begin().await?;
            let batch = sqlx::query(rows).bind(user.as_str()).bind(id).bind(ROWS);
            let deleted = batch.execute(&mut *transaction).await?.rows_affected();
            transaction.commit().await?;
            if deleted == 0 {
                return self.delete_of_user(statement, user, id).await;
            }
        }
    }

    /// Forgets names that are a day old.
    pub async fn prune_request_keys(&self, batch: i64) -> Result<u64, Error> {
        let (mut transaction, now) = self.begin().await?;
        let gone = query!("idempotency/prune.sql", now - KNOWN_FOR, batch).execute(&mut *transaction).await?;
        transaction.commit().await?;
        Ok(gone.rows_affected())
    }
}

/// What is known of a request, within the transaction that would make it: its caller holds a lock that orders requests of one name.
pub async fn known(connection: &mut PgConnection, key: &RequestKey) -> Result<Option<Repeat>, Error> {
    let row: Option<Row> = query_as!("idempotency/known.sql", &key.user, &key.route, &key.key, KNOWN_FOR)
        .fetch_optional(connection)
        .await?;
    Ok(row.map(|row| row.repeat(key)))
}

/// `false`: the name is taken. Of two requests at once the second waits here until the first has committed. A name that
/// is a day old is free again.
pub async fn note(
    connection: &mut PgConnection,
    key: &RequestKey,
    made: &[&str],
    now: Timestamp,
) -> Result<bool, sqlx::Error> {
    let noted = query!(
        "idempotency/note.sql",
        &key.user,
        &key.route,
        &key.key,
        key.fingerprint.as_slice(),
        made,
        now,
        now + RUNS_FOR,
        now - KNOWN_FOR
    )
    .execute(connection)
    .await?;
    Ok(noted.rows_affected() > 0)
}

/// Forgets the answers that hold what was deleted: its words, or those of what it hung on. An answer that is not kept yet
/// never will be.
pub async fn forget_answers(
    connection: &mut PgConnection,
    user: &UserId,
    made: &[&str],
) -> Result<(), sqlx::Error> {
    query!("idempotency/forget_answers.sql", user, made).execute(connection).await.map(drop)
}

#[derive(sqlx::FromRow)]
struct Row {
    fingerprint: Vec<u8>,
    made: Vec<String>,
    running_until: Timestamp,
    status: Option<i16>,
    answer: Option<String>,
    now: Timestamp,
}

impl Row {
    fn repeat(self, key: &RequestKey) -> Repeat {
        if self.fingerprint != key.fingerprint {
            return Repeat::OtherBody;
        }
        if let (Some(status), Some(answer)) = (self.status, self.answer) {
            return Repeat::Answered { status: status.unsigned_abs(), answer };
        }
        match (self.running_until - self.now).num_seconds() {
            left if left > 0 => Repeat::Running(left.unsigned_abs()),
            _ => Repeat::Made(self.made),
        }
    }
}

//! What a claim reads of the rows that are due, gives up and puts back, deliveries and pushes alike. Where the oldest are all of receivers that can take no
//! more, it goes from receiver to receiver instead, and these take turns: what it reads does not grow with what is due.

use std::time::Duration;

use chrono::TimeDelta;
use db::Error;
use parking_lot::Mutex;
use records::Timestamp;
use sqlx::PgConnection;

use crate::fair::{DueRow, Passed};

/// What a claim reads for each row that it may take, so that one receiver's backlog seldom fills a page.
const PAGE_FACTOR: i64 = 4;
/// How many of the oldest due rows a round looks at, whose they ever are.
const OLDEST: i64 = 1_000;
/// How many receivers a round looks at, at most twice.
const RECEIVERS: i64 = 500;

/// Rows whose sender died that one claim gives up.
const GIVEN_UP_AT_ONCE: i64 = 1_000;
/// How long a row waits that this process cannot send, as long as a job that it cannot claim.
pub(crate) const UNSENDABLE: TimeDelta = TimeDelta::minutes(5);
/// For how long a row waits for a process that can send it; after that it is exhausted, and `recover` sends it.
const GIVEN_UP_UNSENT: TimeDelta = TimeDelta::days(3);

/// A receiver's oldest row that is not finished.
#[derive(sqlx::FromRow)]
struct Waiting {
    #[sqlx(flatten)]
    row: DueRow,
    is_due: bool,
}

/// How many tries are under way at a receiver.
#[derive(sqlx::FromRow)]
pub(crate) struct UnderWay {
    pub(crate) user_id: String,
    pub(crate) receiver_id: String,
    pub(crate) tries: i64,
}

/// The statements of one kind.
pub(crate) struct Statements {
    /// Reads the oldest.
    pub(crate) oldest: &'static str,
    /// Goes from receiver to receiver.
    pub(crate) by_receiver: &'static str,
    /// Gives up rows whose sender died in their last try: what kills its sender must end.
    pub(crate) give_up_dead: &'static str,
    /// Puts back rows that were taken and cannot be sent.
    pub(crate) put_back: &'static str,
}

impl Statements {
    /// Returns how many were given up, whose sender died in the try after the last of `schedule`.
    pub(crate) async fn give_up_dead(
        &self,
        connection: &mut PgConnection,
        schedule: &[Duration],
        now: Timestamp,
    ) -> Result<u64, sqlx::Error> {
        let dead = sqlx::query(self.give_up_dead).bind(now);
        let dead = dead.bind(i32::try_from(schedule.len()).unwrap_or(i32::MAX)).bind(GIVEN_UP_AT_ONCE);
        Ok(dead.execute(connection).await?.rows_affected())
    }

    /// Parts what this process can send from the keys of what it cannot, and puts that back.
    pub(crate) async fn sendable<T>(
        &self,
        connection: &mut PgConnection,
        read: impl Iterator<Item = Result<T, DueRow>>,
        now: Timestamp,
    ) -> Result<(Vec<T>, Vec<DueRow>), sqlx::Error> {
        let (mut sendable, mut unsendable) = (Vec::new(), Vec::new());
        for row in read {
            match row {
                Ok(row) => sendable.push(row),
                Err(key) => unsendable.push(key),
            }
        }
        if !unsendable.is_empty() {
            let [users, receivers, deliveries] = DueRow::columns(unsendable.iter());
            sqlx::query(self.put_back)
                .bind(users)
                .bind(receivers)
                .bind(deliveries)
                .bind(now + UNSENDABLE)
                .bind(now - GIVEN_UP_UNSENT)
                .bind(now)
                .execute(connection)
                .await?;
        }
        Ok((sendable, unsendable))
    }
}

/// The user and the receiver whose turn was last in a claim that went from receiver to receiver; empty at first.
#[derive(Debug, Default)]
pub(crate) struct LastTurn(Mutex<(String, String)>);

impl LastTurn {
    /// Rows that are due, or whose sender died, of receivers that are not passed, some more than are `wanted`; oldest first where
    /// they are among the oldest of all. Where only users are left who had their turn, the next turn begins.
    pub(crate) async fn due(
        &self,
        connection: &mut PgConnection,
        statements: &Statements,
        wanted: i64,
        passed: &mut Passed,
        now: Timestamp,
    ) -> Result<Vec<DueRow>, Error> {
        let page = wanted.saturating_mul(PAGE_FACTOR);
        loop {
            let (users, receivers) = passed.receivers();
            let mut due: Vec<DueRow> = sqlx::query_as(statements.oldest)
                .bind(now)
                .bind(users)
                .bind(receivers)
                .bind(page)
                .bind(passed.users())
                .bind(OLDEST)
                .fetch_all(&mut *connection)
                .await?;
            if due.is_empty() {
                due = self.by_receiver(connection, statements, page, passed, now).await?;
            }
            if !due.is_empty() || !passed.begin_next_turn() {
                return Ok(due);
            }
        }
    }

    /// The oldest due row of each of at most `page` receivers that are not passed, in the order of their keys.
    async fn by_receiver(
        &self,
        connection: &mut PgConnection,
        statements: &Statements,
        page: i64,
        passed: &Passed,
        now: Timestamp,
    ) -> Result<Vec<DueRow>, Error> {
        let page = usize::try_from(page).unwrap_or(usize::MAX);
        let mut due: Vec<DueRow> = Vec::new();
        let begin = self.0.lock().clone();
        let mut last = begin.clone();
        let beginning = Default::default();
        // From the receiver whose turn was last to the end of the keys, then once more from their beginning.
        for (user, receiver) in std::iter::once(&begin).chain((begin != beginning).then_some(&beginning)) {
            let waiting: Vec<Waiting> = sqlx::query_as(statements.by_receiver)
                .bind(now)
                .bind(user)
                .bind(receiver)
                .bind(RECEIVERS)
                .bind(OLDEST)
                .fetch_all(&mut *connection)
                .await?;
            // Those behind a full page have their turn in the next round, before the first ones have another.
            let is_full = waiting.len() >= RECEIVERS as usize;
            for Waiting { row, is_due } in waiting {
                if due.len() == page {
                    break;
                }
                last = (row.user_id.clone(), row.receiver_id.clone());
                if is_due && !passed.has(row.receiver()) && !due.contains(&row) {
                    due.push(row);
                }
            }
            if is_full || due.len() == page {
                break;
            }
        }
        *self.0.lock() = last;
        Ok(due)
    }
}

//! What a claim reads of the rows that are due, deliveries and pushes alike. Where the oldest are all of receivers that can take no
//! more, it goes from receiver to receiver instead, and these take turns: what it reads does not grow with what is due.

use db::Error;
use parking_lot::Mutex;
use records::Timestamp;
use sqlx::PgConnection;

use crate::fair::{DueRow, Passed};

/// How many of the oldest due rows a round looks at, whose they ever are.
const OLDEST: i64 = 1_000;
/// How many receivers a round looks at, at most twice.
const RECEIVERS: i64 = 500;

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
}

/// The user and the receiver whose turn was last in a claim that went from receiver to receiver; empty at first.
#[derive(Debug, Default)]
pub(crate) struct LastTurn(Mutex<(String, String)>);

impl LastTurn {
    /// At most `page` rows that are due, or whose sender died, of receivers that are not passed; oldest first where they are among
    /// the oldest of all.
    pub(crate) async fn due(
        &self,
        connection: &mut PgConnection,
        statements: &Statements,
        page: i64,
        passed: &Passed,
        now: Timestamp,
    ) -> Result<Vec<DueRow>, Error> {
        let (users, receivers) = passed.receivers();
        let due: Vec<DueRow> = sqlx::query_as(statements.oldest)
            .bind(now)
            .bind(users)
            .bind(receivers)
            .bind(page)
            .bind(passed.users())
            .bind(OLDEST)
            .fetch_all(&mut *connection)
            .await?;
        if due.is_empty() {
            self.by_receiver(connection, statements, page, passed, now).await
        } else {
            Ok(due)
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

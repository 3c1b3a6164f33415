//! Chats: messages, and the turns of the assistant that answer them.
//!
//! A turn is stored when it begins, while it runs and when it ends. Until then it belongs to a process under a lease; when
//! that process is lost, the turn reads as failed once the lease is over, and the next one may begin.

use std::time::Duration;

use db::{Error, TurnLease, query, query_as, query_scalar};
use records::{Timestamp, UserId};
use serde_json::Value;
use sqlx::PgConnection;

use crate::Store;

#[derive(Clone, Debug)]
pub struct NewTurn {
    /// `main`, or the id of an app.
    pub thread: String,
    pub app_id: Option<String>,
    /// The client's own id of the message.
    pub request_id: Option<String>,
    /// The id of the message: a UUID.
    pub question_id: String,
    /// The id of the reply: a UUID, sorted behind the message's.
    pub reply_id: String,
    pub text: String,
    /// How long the turn is its process's without being renewed.
    pub lease: Duration,
}

/// What came of beginning a turn.
#[derive(Clone, Debug, PartialEq)]
pub enum BegunTurn {
    /// It runs, since this moment; the caller finishes it.
    Begun(Timestamp),
    /// The request began a turn before: this is its reply.
    Repeated(Box<ChatMessage>),
    /// Another turn runs in the thread, for at most so many seconds.
    Busy(u64),
}

/// A message as it is kept. What a reply has besides its text is `None` for messages of people and apps.
#[derive(Clone, Debug, PartialEq, sqlx::FromRow)]
pub struct ChatMessage {
    pub message_id: String,
    /// When it was written, or begun.
    pub created_at: Timestamp,
    /// `human`, `ai` or `app`.
    pub sender: String,
    /// The app that wrote it, or in whose chat it stands.
    pub app_id: Option<String>,
    pub text: String,
    pub engine: Option<String>,
    /// What the reply rests on.
    pub sources: Option<Value>,
    pub tools: Option<Value>,
    pub status: Option<String>,
    pub trouble: Option<String>,
    /// Whether it stays as it is; `false` while its turn may still be answered.
    pub is_settled: bool,
}

#[derive(Clone, Debug)]
pub struct FinishedTurn {
    /// `completed`, `failed` or `stopped`.
    pub status: &'static str,
    pub trouble: Option<&'static str>,
    pub engine: String,
    /// What the reply rests on: a list.
    pub sources: Value,
    pub tools: Value,
    pub text: String,
}

/// How long after its beginning a turn may be answered: longer than it runs and its end is tried.
const SETTLED: Duration = Duration::from_secs(600);

impl Store {
    /// Stores a message and begins the turn that answers it, unless one is running in its thread.
    pub async fn begin_turn(&self, user: &UserId, new: &NewTurn) -> Result<BegunTurn, Error> {
        self.db.in_time(self.try_begin_turn(user, new)).await
    }

    async fn try_begin_turn(&self, user: &UserId, new: &NewTurn) -> Result<BegunTurn, Error> {
        let (mut transaction, now) = self.db.begin().await?;
        if let Some(reply) = repeated(&mut transaction, user, new).await? {
            return Ok(BegunTurn::Repeated(Box::new(reply)));
        }
        query!("messages/expire.sql", user, &new.thread, now).execute(&mut *transaction).await?;
        query!(
            "messages/insert_messages.sql",
            user,
            &new.thread,
            &new.question_id,
            &new.reply_id,
            now,
            &new.app_id,
            &new.text
        )
        .execute(&mut *transaction)
        .await?;
        let begun = query!(
            "messages/insert_turn.sql",
            user,
            &new.thread,
            &new.question_id,
            &new.reply_id,
            now,
            &new.request_id,
            new.lease.as_secs_f64()
        )
        .execute(&mut *transaction)
        .await?;
        if begun.rows_affected() > 0 {
            transaction.commit().await?;
            return Ok(BegunTurn::Begun(now));
        }
        // Another turn runs, perhaps of the same request: its transaction committed while this one waited for its row.
        transaction.rollback().await?;
        let mut connection = self.db.pool().acquire().await?;
        if let Some(reply) = repeated(&mut connection, user, new).await? {
            return Ok(BegunTurn::Repeated(Box::new(reply)));
        }
        let seconds: Option<i64> = query_scalar!("messages/running_for.sql", user, &new.thread)
            .fetch_optional(&mut *connection)
            .await?;
        Ok(BegunTurn::Busy(seconds.unwrap_or(1).unsigned_abs()))
    }

    /// Renews a turn's lease before an app is called. `false`: the lease ran out, and nothing is to be changed in the turn's name
    /// any more.
    pub async fn hold_turn(&self, turn: &TurnLease) -> Result<bool, Error> {
        let hold = async {
            match self.db.in_turn(turn.clone()).begin().await {
                Ok((transaction, _)) => {
                    transaction.commit().await?;
                    Ok(true)
                }
                Err(Error::TurnLost) => Ok(false),
                Err(error) => Err(error),
            }
        };
        self.db.in_time(hold).await
    }

    /// Stores what there is of a running turn's reply, and renews its lease, unless that ran out. `false`: the turn is no
    /// longer this process's, because another message began after its lease or its thread was cleared.
    pub async fn renew_turn(&self, turn: &TurnLease, so_far: &FinishedTurn) -> Result<bool, Error> {
        let renew = async {
            let renewed = query!(
                "messages/renew_turn.sql",
                &turn.user,
                &turn.reply_id,
                turn.lease.as_secs_f64(),
                &so_far.engine,
                &so_far.sources,
                &so_far.tools,
                &so_far.text
            )
            .execute(self.db.pool())
            .await?;
            Ok(renewed.rows_affected() > 0)
        };
        self.db.in_time(renew).await
    }

    /// Keeps what came of a turn, also after its lease. `false`: the turn is no longer this process's, because another
    /// message began or its thread was cleared, or it is settled; nothing was changed.
    pub async fn finish_turn(
        &self,
        user: &UserId,
        reply_id: &str,
        ended: &FinishedTurn,
    ) -> Result<bool, Error> {
        let finish = async {
            let kept = query!(
                "messages/finish_turn.sql",
                user,
                reply_id,
                ended.status,
                ended.trouble,
                &ended.engine,
                &ended.sources,
                &ended.tools,
                &ended.text,
                SETTLED.as_secs_f64()
            )
            .execute(self.db.pool())
            .await?;
            Ok(kept.rows_affected() > 0)
        };
        self.db.in_time(finish).await
    }

    /// The newest messages of a thread, newest first, from before a message on; none where that message is not there.
    pub async fn chat_messages(
        &self,
        user: &UserId,
        thread: &str,
        before: Option<&str>,
        limit: i64,
    ) -> Result<Vec<ChatMessage>, Error> {
        Ok(query_as!("messages/list.sql", user, thread, before, limit, SETTLED.as_secs_f64())
            .fetch_all(self.db.pool())
            .await?)
    }

    pub async fn chat_message(&self, user: &UserId, id: &str) -> Result<Option<ChatMessage>, Error> {
        let mut connection = self.db.pool().acquire().await?;
        one(&mut connection, user, id).await
    }

    /// Clears a thread, unless a turn is running in it. `None`: it is cleared; else the seconds that the turn may still
    /// take. A long thread goes from its beginning, a batch after the other, each in a transaction of its own.
    pub async fn clear_chat(&self, user: &UserId, thread: &str) -> Result<Option<u64>, Error> {
        loop {
            let (mut transaction, now) = self.db.begin().await?;
            query!("messages/expire.sql", user, thread, now).execute(&mut *transaction).await?;
            let Cleared { running, cleared } =
                query_as!("messages/clear.sql", user, thread, CLEARED).fetch_one(&mut *transaction).await?;
            transaction.commit().await?;
            if running.is_some() || cleared < CLEARED {
                return Ok(running.map(i64::unsigned_abs));
            }
        }
    }
}

/// Messages that one transaction removes.
const CLEARED: i64 = 1_000;

#[derive(sqlx::FromRow)]
struct Cleared {
    /// The seconds that a running turn may still take: then nothing was removed.
    running: Option<i64>,
    cleared: i64,
}

/// The reply to the turn that the same request began before.
async fn repeated(
    connection: &mut PgConnection,
    user: &UserId,
    new: &NewTurn,
) -> Result<Option<ChatMessage>, Error> {
    let Some(request) = &new.request_id else { return Ok(None) };
    let reply: Option<String> = query_scalar!("messages/repeated.sql", user, &new.thread, request)
        .fetch_optional(&mut *connection)
        .await?;
    match reply {
        Some(reply) => one(connection, user, &reply).await,
        None => Ok(None),
    }
}

async fn one(connection: &mut PgConnection, user: &UserId, id: &str) -> Result<Option<ChatMessage>, Error> {
    Ok(query_as!("messages/one.sql", user, id, SETTLED.as_secs_f64()).fetch_optional(connection).await?)
}

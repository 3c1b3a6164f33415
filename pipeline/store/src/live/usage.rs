//! What the speech of a live conversation took: numbers, by the sockets that filled it.

use db::Error;
use records::{ConversationId, UserId};
use sqlx::PgConnection;

use crate::Store;

/// What one socket, or all of an engine's, took for a conversation.
#[derive(Clone, Debug, Default, PartialEq, sqlx::FromRow)]
pub struct LiveUsage {
    /// The speech engine; `client` where the client recognized speech itself.
    pub engine: String,
    /// The user's own key was used.
    pub own_key: bool,
    /// Seconds of audio that came.
    pub received_seconds: f64,
    /// Seconds of audio that the engine was sent and billed.
    pub recognized_seconds: f64,
    /// Utterances that were recognized.
    pub utterances: i64,
    /// Seconds of speech that were given up.
    pub gap_seconds: f64,
    /// What that cost the service, where a price is set.
    pub cost: Option<f64>,
}

impl Store {
    /// Notes what the socket of `epoch` has taken for a conversation so far. A repeat changes nothing.
    pub async fn note_live_usage(
        &self,
        user: &UserId,
        conversation: &ConversationId,
        epoch: i64,
        usage: &LiveUsage,
    ) -> Result<(), Error> {
        sqlx::query(include_str!("../../sql/live_usage/note.sql"))
            .bind(user.as_str())
            .bind(conversation.as_str())
            .bind(epoch)
            .bind(&usage.engine)
            .bind(usage.own_key)
            .bind(usage.received_seconds)
            .bind(usage.recognized_seconds)
            .bind(usage.utterances)
            .bind(usage.gap_seconds)
            .bind(usage.cost)
            .execute(self.db.pool())
            .await?;
        Ok(())
    }
}

/// What a conversation's speech took, by engine.
pub async fn live_usage(
    connection: &mut PgConnection,
    user: &UserId,
    conversation: &ConversationId,
) -> Result<Vec<LiveUsage>, sqlx::Error> {
    sqlx::query_as(include_str!("../../sql/live_usage/of_conversation.sql"))
        .bind(user.as_str())
        .bind(conversation.as_str())
        .fetch_all(connection)
        .await
}

//! Whole ids from the ends that lists show.

use std::time::Duration;

use db::{Error, query_as};
use records::UserId;

use crate::{Operations, verify::patience};

job::named! {
    IdKind {
        Job = "job",
        Conversation = "conversation",
        User = "user",
        Replay = "replay",
        Endpoint = "endpoint",
        Delivery = "delivery",
        App = "app",
        AppKey = "app_key",
        Key = "key",
        Folder = "folder",
    }
}

#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct FoundId {
    #[sqlx(try_from = "String")]
    pub kind: IdKind,
    /// Whose it is; empty for a bulk replay.
    pub user_id: String,
    pub id: String,
    /// The newest job of a conversation, the endpoint of a delivery, the app of a key; empty otherwise.
    pub within: String,
}

/// A beginning or an ending of fewer characters finds nothing: it would read every table to find too much.
const SHORTEST: usize = 4;

/// How long an answer is waited for: no index knows the ends of ids, and two million jobs are read in seconds.
pub const FOUND_WITHIN: Duration = Duration::from_secs(65);
/// How long each of the two readings may take.
const LONG_READING: &str = "30s";

impl Operations {
    /// The ids that are `text`, or else those that begin or end with it, at most `limit`; of all kinds and users where none is
    /// named.
    pub async fn find_ids(
        &self,
        kind: Option<IdKind>,
        user: Option<&UserId>,
        text: &str,
        limit: i64,
    ) -> Result<Vec<FoundId>, Error> {
        let mut transaction = self.db.begin_reading().await?;
        patience(&mut transaction, LONG_READING).await?;
        for is_part in [false, true] {
            if text.is_empty() || is_part && text.chars().count() < SHORTEST {
                break;
            }
            let found: Vec<FoundId> =
                query_as!("operators/find_ids.sql", kind.map(IdKind::as_str), user, text, is_part, limit)
                    .persistent(false)
                    .fetch_all(&mut *transaction)
                    .await?;
            if !found.is_empty() {
                return Ok(found);
            }
        }
        Ok(Vec::new())
    }
}

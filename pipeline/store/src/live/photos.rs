//! Pictures of a live conversation.

use db::{Error, query, query_as};
use records::{ConversationId, Timestamp, UserId};
use sqlx::PgConnection;

use super::{LiveLost, hold};
use crate::{Store, budgets::Charge};

/// Pictures that a conversation may have, and the bytes of their base64: they are shown in one answer.
const MOST: i64 = 100;
const MOST_BYTES: i64 = 20 * 1_024 * 1_024;
/// Pictures that one run describes, and the bytes of their base64: a worker holds them for many runs at once.
const DESCRIBED: i64 = 20;
const DESCRIBED_BYTES: i64 = 6 * 1_024 * 1_024;

#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct Photo {
    /// The id that its client gave it.
    #[sqlx(rename = "photo_id")]
    pub id: String,
    /// JPEG or PNG.
    pub base64: String,
    /// What is on it, when a model has said so.
    pub description: Option<String>,
    /// When it came.
    pub created_at: Timestamp,
    /// Not worth keeping.
    pub discarded: bool,
}

/// Why a picture was not stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PhotoRefusal {
    /// The conversation is no longer this socket's.
    Lost(LiveLost),
    /// It has 100 pictures, or 20 MiB of them, or the user may store no more, or create no more conversations today.
    TooMany,
}

impl Store {
    /// Stores a picture of a live conversation; one that is stored under its id already is left as it is. It is activity.
    pub async fn add_live_photo(
        &self,
        user: &UserId,
        conversation: &ConversationId,
        epoch: i64,
        (photo, base64): (&str, &str),
    ) -> Result<Result<(), PhotoRefusal>, Error> {
        self.db
            .in_time(async {
                let (mut transaction, now) = self.db.begin().await?;
                let locked = match hold(&mut transaction, user, conversation, epoch).await? {
                    Ok(locked) => locked,
                    Err(lost) => return Ok(Err(PhotoRefusal::Lost(lost))),
                };
                // Beside this one: a repeat takes no more room.
                let held = held(&mut transaction, user, conversation, Some(photo)).await?;
                if held.photos >= MOST || held.bytes + base64.len() as i64 > MOST_BYTES {
                    return Ok(Err(PhotoRefusal::TooMany));
                }
                let inserted = query!("photos/insert.sql", user, conversation, photo, base64, now)
                    .execute(&mut *transaction)
                    .await?;
                // A repeat stores nothing.
                let bytes = if inserted.rows_affected() > 0 { base64.len() as i64 } else { 0 };
                query!("photos/added.sql", user, conversation, now, bytes).execute(&mut *transaction).await?;
                let charge = Charge { conversations: i64::from(!locked.has_content), bytes, job: false };
                match self.charge(&mut transaction, user, charge, now).await {
                    Err(Error::OverBudget(_)) => return Ok(Err(PhotoRefusal::TooMany)),
                    charged => charged?,
                }
                transaction.commit().await?;
                Ok(Ok(()))
            })
            .await
    }

    /// The pictures of a conversation, oldest first; `reserve` is asked for the memory that they take before they are loaded.
    /// Returns its refusal.
    pub async fn photos_within<R>(
        &self,
        user: &UserId,
        conversation: &ConversationId,
        reserve: impl FnOnce(usize) -> Result<(), R>,
    ) -> Result<Result<Vec<Photo>, R>, Error> {
        let mut snapshot = self.db.begin_reading().await?;
        let held = held(&mut snapshot, user, conversation, None).await?;
        if let Err(refused) = reserve(usize::try_from(held.bytes).unwrap_or(usize::MAX)) {
            return Ok(Err(refused));
        }
        Ok(Ok(query_as!("photos/list.sql", user, conversation).fetch_all(&mut *snapshot).await?))
    }

    /// The oldest pictures of a conversation that have no description, at most 20 and 6 MiB: ids and base64, oldest first.
    pub async fn undescribed_photos(
        &self,
        user: &UserId,
        conversation: &ConversationId,
    ) -> Result<Vec<(String, String)>, Error> {
        Ok(query_as!("photos/undescribed.sql", user, conversation, DESCRIBED, DESCRIBED_BYTES)
            .fetch_all(self.db.pool())
            .await?)
    }

    /// What is on the pictures of a conversation, where it is known: ids and descriptions, oldest first.
    pub async fn photo_descriptions(
        &self,
        user: &UserId,
        conversation: &ConversationId,
    ) -> Result<Vec<(String, String)>, Error> {
        Ok(query_as!("photos/described.sql", user, conversation).fetch_all(self.db.pool()).await?)
    }
}

#[derive(sqlx::FromRow)]
struct Held {
    photos: i64,
    /// Of their base64.
    bytes: i64,
}

/// How many pictures a conversation has, except one, and the bytes of their base64.
async fn held(
    connection: &mut PgConnection,
    user: &UserId,
    conversation: &ConversationId,
    except: Option<&str>,
) -> Result<Held, Error> {
    Ok(query_as!("photos/held.sql", user, conversation, except).fetch_one(connection).await?)
}

//! Segments, and appending words to a conversation that is still in progress.

mod speakers;

use std::collections::HashSet;

use chrono::{Datelike, TimeDelta};
use db::{Error, array, query, query_as, query_scalar};
use records::{ConversationId, Segment, Timestamp, UserId};
use sqlx::PgConnection;

use crate::{Store, budgets::Charge};
use speakers::Speakers;

/// Segments that a conversation may have (DECISIONS §3, "ingest now, finalize later").
pub(crate) const MOST_SEGMENTS: i64 = 10_000;
/// Bytes of text that a conversation may have.
pub(crate) const MOST_BYTES: i64 = 4 * 1024 * 1024;

/// Four digits of a year are what clients can read.
const LAST_YEAR: i32 = 9_999;

/// What a conversation holds before the append.
#[derive(sqlx::FromRow)]
pub(crate) struct Held {
    pub(crate) segments: i64,
    pub(crate) bytes: i64,
    pub(crate) next_position: i32,
}

/// A conversation in progress, locked.
#[derive(sqlx::FromRow)]
pub(crate) struct Locked {
    /// That of its newest socket; `None`: it is not a live one.
    pub(crate) live_epoch: Option<i64>,
    /// When it began.
    pub(crate) started_at: Timestamp,
    /// Words or pictures of it are stored.
    pub(crate) has_content: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppendRefusal {
    /// Unknown, deleted or another user's.
    NoConversation,
    /// Its words are already being processed: 409.
    NotInProgress,
    /// More than 10,000 segments, or 4 MiB of text and labels: 422.
    TooMuch,
    /// Their end lies after the year 9999: 422.
    TooLate,
}

impl Store {
    /// Appends segments in order, with the conversation locked and its status re-checked, so that a segment is in the
    /// revision or is refused. A segment whose id is stored already is left as it is. Speakers without a number
    /// get one: the n of `SPEAKER_n`, of other labels the conversation's next. Answers how many segments it has now.
    ///
    /// # Errors
    /// When the database does not answer, or the user stores as much as they may.
    pub async fn append_segments(
        &self,
        user: &UserId,
        conversation: &ConversationId,
        segments: &[Segment],
    ) -> Result<Result<i64, AppendRefusal>, Error> {
        let (mut transaction, now) = self.db.begin_creating(&[conversation.as_str()]).await?;
        let Some(Locked { started_at, .. }) = lock(&mut transaction, user, conversation).await? else {
            let is_there = query_scalar!("conversations/is_there.sql", user, conversation);
            return Ok(Err(match is_there.fetch_one(&mut *transaction).await? {
                true => AppendRefusal::NotInProgress,
                false => AppendRefusal::NoConversation,
            }));
        };
        let held = held(&mut transaction, user, conversation).await?;
        let ids: Vec<&str> = segments.iter().filter_map(|segment| segment.id.as_deref()).collect();
        let stored: Vec<String> = query_scalar!("segments/stored.sql", user, conversation, &ids)
            .fetch_all(&mut *transaction)
            .await?;
        let mut new = first_of_each(segments, stored.iter().map(String::as_str).collect());
        let segments = held.segments + i64::try_from(new.len()).unwrap_or(i64::MAX);
        let bytes = new.iter().map(|segment| i64::try_from(said(segment)).unwrap_or(i64::MAX));
        let bytes = bytes.fold(0, i64::saturating_add);
        if segments > MOST_SEGMENTS || held.bytes.saturating_add(bytes) > MOST_BYTES {
            return Ok(Err(AppendRefusal::TooMuch));
        }
        let ended_at = started_at.checked_add_signed(length(&new));
        let Some(ended_at) = ended_at.filter(|ended_at| ended_at.year() <= LAST_YEAR) else {
            return Ok(Err(AppendRefusal::TooLate));
        };
        speakers(&mut transaction, user, conversation).await?.number(&mut new);
        insert_segments(&mut transaction, user, conversation, held.next_position, &new).await?;
        // The conversation lasts as long as its words do, and waits anew for its finalize.
        query!("segments/appended.sql", user, conversation, now, ended_at, bytes)
            .execute(&mut *transaction)
            .await?;
        self.charge(&mut transaction, user, Charge { bytes, ..Charge::default() }, now).await?;
        transaction.commit().await?;
        Ok(Ok(segments))
    }

    /// How many segments a conversation has.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn segment_count(&self, user: &UserId, conversation: &ConversationId) -> Result<i64, Error> {
        let mut connection = self.db.pool().acquire().await?;
        Ok(held(&mut connection, user, conversation).await?.segments)
    }
}

/// Locks a conversation in progress, so that its words cannot be admitted meanwhile. `None`: unknown, or not in progress.
pub(crate) async fn lock(
    connection: &mut PgConnection,
    user: &UserId,
    conversation: &ConversationId,
) -> Result<Option<Locked>, sqlx::Error> {
    query_as!("conversations/lock.sql", user, conversation).fetch_optional(connection).await
}

pub(crate) async fn held(
    connection: &mut PgConnection,
    user: &UserId,
    conversation: &ConversationId,
) -> Result<Held, Error> {
    Ok(query_as!("segments/held.sql", user, conversation).fetch_one(connection).await?)
}

/// The segments that have no id, or one that is neither known nor had by an earlier one.
fn first_of_each<'s>(segments: &'s [Segment], mut known: HashSet<&'s str>) -> Vec<Segment> {
    let new = segments.iter().filter(|&segment| segment.id.as_deref().is_none_or(|id| known.insert(id)));
    new.cloned().collect()
}

pub(crate) async fn speakers(
    connection: &mut PgConnection,
    user: &UserId,
    conversation: &ConversationId,
) -> Result<Speakers, Error> {
    let labels: Vec<(Option<String>, i32)> =
        query_as!("segments/speakers.sql", user, conversation).fetch_all(connection).await?;
    Ok(Speakers::stored(labels))
}

/// Makes ready what a new conversation begins with: of segments with one id the first, their speakers numbered.
pub fn first_words(segments: &mut Vec<Segment>) {
    *segments = first_of_each(segments, HashSet::new());
    Speakers::stored([]).number(segments);
}

/// The largest end of the segments, to the microsecond.
pub fn length(segments: &[Segment]) -> TimeDelta {
    let seconds = segments.iter().map(|segment| segment.end).fold(0.0, f64::max);
    TimeDelta::microseconds((seconds * 1e6).round() as i64)
}

/// The bytes of a segment's words and labels, which is what a conversation has a limit of.
pub fn said(segment: &Segment) -> usize {
    let labels = [&segment.id, &segment.speaker, &segment.person_id];
    labels.into_iter().flatten().map(String::len).sum::<usize>() + segment.text.len()
}

/// The bytes that a segment takes of what one reading may hold.
pub(crate) fn weight(segment: &Segment) -> usize {
    size_of::<Segment>() + said(segment)
}

/// Writes segments in order, the first at `first_position`. Ids must be new to the conversation.
pub async fn insert_segments(
    connection: &mut PgConnection,
    user: &UserId,
    conversation: &ConversationId,
    first_position: i32,
    segments: &[Segment],
) -> Result<(), sqlx::Error> {
    if segments.is_empty() {
        return Ok(());
    }
    query!(
        "segments/insert.sql",
        user,
        conversation,
        first_position,
        array(segments, |segment| segment.id.as_deref()),
        array(segments, |segment| segment.text.as_str()),
        array(segments, |segment| segment.speaker.as_deref()),
        array(segments, |segment| segment.speaker_id),
        array(segments, |segment| segment.is_user),
        array(segments, |segment| segment.person_id.as_deref()),
        array(segments, |segment| segment.start),
        array(segments, |segment| segment.end)
    )
    .execute(connection)
    .await
    .map(drop)
}

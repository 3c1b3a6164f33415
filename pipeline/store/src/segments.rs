//! Segments, and appending words to a conversation that is still in progress.

pub(crate) mod append;
mod speakers;

use db::{array, query};
use std::collections::HashSet;

use chrono::TimeDelta;
use records::{ConversationId, Segment, UserId};
use sqlx::PgConnection;

use speakers::Speakers;

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

/// Makes ready what a new conversation begins with: of segments with one id the first, their speakers numbered.
pub fn first_words(segments: &mut Vec<Segment>) {
    *segments = append::first_of_each(segments, HashSet::new());
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

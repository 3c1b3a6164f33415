//! What was said in the conversations of a page, with the names of those who speak.

use db::Error;
use futures::TryStreamExt;
use records::{ConversationId, Segment, UserId};
use sqlx::{FromRow, PgConnection};

use crate::segments::{SegmentRow, weight};

/// How many bytes of words one reading holds at most: some pages of the longest talks, and every page of usual ones.
const MOST_WORDS: usize = 32 * 1024 * 1024;

/// What was said in one conversation.
#[derive(Default)]
pub(super) struct Spoken {
    pub(super) segments: Vec<Segment>,
    /// Known people whom they name, by id: each once, in the order of appearance.
    pub(super) people: Vec<(String, String)>,
}

#[derive(FromRow)]
struct PlacedSegment {
    place: i64,
    #[sqlx(flatten)]
    segment: SegmentRow,
}

#[derive(FromRow)]
struct PlacedPerson {
    place: i64,
    person_id: String,
    name: String,
}

/// Reads the segments of each of `conversations`, in their order. People are not queried when no segment names one.
///
/// # Errors
/// [`Error::TooMuch`] when more was said than one answer may hold.
pub(super) async fn read_spoken(
    connection: &mut PgConnection,
    user: &UserId,
    conversations: &[&ConversationId],
) -> Result<Vec<Spoken>, Error> {
    let ids: Vec<&str> = conversations.iter().map(|id| id.as_str()).collect();
    let mut found: Vec<Spoken> = ids.iter().map(|_| Spoken::default()).collect();
    let place = |place: i64| usize::try_from(place).unwrap_or(usize::MAX);
    let (mut bytes, mut names_people) = (0, false);
    let mut rows = sqlx::query_as(include_str!("../../sql/conversations/page_segments.sql"))
        .bind(user.as_str())
        .bind(&ids)
        .fetch(&mut *connection);
    // The rows come one by one, and none is kept beside what was made of it.
    while let Some(row) = rows.try_next().await? {
        let row: PlacedSegment = row;
        let segment = Segment::from(row.segment);
        bytes += weight(&segment);
        if bytes > MOST_WORDS {
            return Err(Error::TooMuch);
        }
        names_people |= segment.person_id.is_some();
        if let Some(spoken) = found.get_mut(place(row.place)) {
            spoken.segments.push(segment);
        }
    }
    drop(rows);
    if names_people {
        let people: Vec<PlacedPerson> =
            sqlx::query_as(include_str!("../../sql/conversations/page_people.sql"))
                .bind(user.as_str())
                .bind(&ids)
                .fetch_all(connection)
                .await?;
        for person in people {
            if let Some(spoken) = found.get_mut(place(person.place)) {
                spoken.people.push((person.person_id, person.name));
            }
        }
    }
    Ok(found)
}

//! What was said in conversations, with the names of those who speak: for single views and for pages.

use db::Error;
use records::{ConversationId, Segment, UserId};
use sqlx::PgConnection;

use crate::{
    known_people::NamedPerson,
    reading::{Keys, MOST_WORDS, Reading},
    segments::{SEGMENTS, SegmentRow, weight},
};

/// What was said in one conversation.
#[derive(Default)]
pub(super) struct Spoken {
    /// In their order.
    pub(super) segments: Vec<Segment>,
    /// Known people whom they name, by id: each once, in the order of appearance.
    pub(super) people: Vec<(String, String)>,
}

impl Spoken {
    pub(super) fn names_people(&self) -> bool {
        self.segments.iter().any(|segment| segment.person_id.is_some())
    }
}

/// Reads the segments of each of `conversations`, in their order. People are not queried when no segment names one.
///
/// # Errors
/// [`Error::TooMuch`] when more was said than one answer may hold; one conversation alone never is too much.
pub(super) async fn read_spoken(
    connection: &mut PgConnection,
    conversations: &[(&UserId, &ConversationId)],
    doing: &'static str,
) -> Result<Vec<Spoken>, Error> {
    let all = || conversations.iter().enumerate().map(|(place, (user, id))| (place, *user, *id));
    let mut reading = Reading::new(connection, conversations.len(), doing);
    let mut bytes = 0;
    let give = |spoken: &mut Spoken, row: SegmentRow| {
        let segment = Segment::from(row);
        bytes += weight(&segment);
        spoken.segments.push(segment);
        bytes <= MOST_WORDS || conversations.len() == 1
    };
    reading.each_while(&Keys::of(all()), SEGMENTS, give).await?;
    let naming = Keys::of(all().filter(|(place, ..)| reading.so_far()[*place].names_people()));
    reading.each(&naming, PEOPLE, |spoken, row: NamedPerson| spoken.people.push(row.into())).await?;
    Ok(reading.found())
}

const PEOPLE: &str = include_str!("../../sql/conversations/batch_people.sql");

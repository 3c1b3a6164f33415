//! Single views: one conversation with what hangs on it, in one snapshot.

use db::{Doing, Error};
use records::{ActionItem, ConversationId, UserId};
use sqlx::{FromRow, PgConnection};

use super::{
    ConversationView,
    row::ConversationRow,
    spoken::{Spoken, read_spoken},
};
use crate::{
    Store,
    items::ItemRow,
    reading::{Keys, Reading},
};

const DOING: &str = "reading a conversation";

/// What is to be shown.
#[derive(Clone)]
pub(crate) struct Shown {
    pub(crate) user: UserId,
    pub(crate) conversation: ConversationId,
    pub(crate) with_transcript: bool,
}

impl Store {
    /// One conversation, whatever its status. Those that are asked for together are read together.
    pub async fn conversation(
        &self,
        user: &UserId,
        conversation: &ConversationId,
        with_transcript: bool,
    ) -> Result<Option<ConversationView>, Error> {
        let shown = Shown { user: user.clone(), conversation: conversation.clone(), with_transcript };
        let read = async {
            let mut snapshot = self.db.begin_reading(DOING).await?;
            let seen = read_seen(&mut snapshot, &[shown]).await?;
            snapshot.commit().await.doing(DOING)?;
            Ok(seen)
        };
        match self.db.in_time(read).await?.into_iter().next() {
            Some(seen) => seen.into_view(),
            None => Ok(None),
        }
    }
}

/// Reads a batch in its order. An unreadable row fails its own reader only.
async fn read_seen(connection: &mut PgConnection, shown: &[Shown]) -> Result<Vec<Seen>, Error> {
    let all = || shown.iter().enumerate().map(|(place, shown)| (place, &shown.user, &shown.conversation));
    let mut reading: Reading<'_, Seen> = Reading::new(connection, shown.len(), DOING);
    reading.each(&Keys::of(all()), CONVERSATIONS, |seen, row: NamedRow| seen.row = Some(row)).await?;
    let with_items = Keys::of(all().filter(|(place, ..)| reading.so_far()[*place].has_items()));
    reading.each(&with_items, ITEMS, |seen, row: ItemRow| seen.items.push(row.into())).await?;
    let mut seen = reading.found();
    let with_transcript = || shown.iter().zip(0..).filter(|(shown, _)| shown.with_transcript);
    let asked: Vec<_> = with_transcript().map(|(shown, _)| (&shown.user, &shown.conversation)).collect();
    let spoken = read_spoken(connection, &asked, DOING).await?;
    for ((_, place), spoken) in with_transcript().zip(spoken) {
        seen[place].spoken = Some(spoken);
    }
    Ok(seen)
}

const CONVERSATIONS: &str = include_str!("../../sql/conversations/batch.sql");
const ITEMS: &str = include_str!("../../sql/conversations/batch_items.sql");

/// What was found of one.
#[derive(Default)]
pub(crate) struct Seen {
    row: Option<NamedRow>,
    items: Vec<ActionItem>,
    /// If it was asked for.
    spoken: Option<Spoken>,
}

/// A conversation's row, with the names of its owner and its folder, and whether it has action items.
#[derive(FromRow)]
pub(crate) struct NamedRow {
    #[sqlx(flatten)]
    row: ConversationRow,
    user_name: Option<String>,
    folder_name: Option<String>,
    has_items: bool,
}

impl Seen {
    fn has_items(&self) -> bool {
        self.row.as_ref().is_some_and(|row| row.has_items)
    }

    /// `None`: its reader has no such conversation.
    ///
    /// # Errors
    /// When the row cannot be read.
    pub(crate) fn into_view(self) -> Result<Option<ConversationView>, Error> {
        let Some(NamedRow { mut row, user_name, folder_name, .. }) = self.row else { return Ok(None) };
        let (segments, people) = self.spoken.map(|spoken| (spoken.segments, spoken.people)).unzip();
        Ok(Some(ConversationView {
            apps_results: row.take_apps_results()?,
            conversation: row.try_into()?,
            folder_name,
            action_items: self.items,
            segments,
            user_name,
            people: people.unwrap_or_default(),
        }))
    }
}

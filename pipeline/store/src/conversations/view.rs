//! Conversations with all that hangs on them.

use db::{Error, array, query};
use records::{ConversationId, UserId};
use sqlx::{FromRow, PgConnection, Row};

use super::{
    ConversationView,
    page::{PageRow, transcripts_size},
};
use crate::{
    Store,
    columns::{SegmentColumns, column},
};

impl Store {
    /// One conversation, whatever its status.
    pub async fn conversation(
        &self,
        user: &UserId,
        conversation: &ConversationId,
        with_transcript: bool,
    ) -> Result<Option<ConversationView>, Error> {
        let read = async {
            let mut session = self.db.pool().acquire().await?;
            let found = views(&mut session, &[(user, conversation)], with_transcript).await?;
            found.into_iter().next().map(|(_, view)| view).transpose()
        };
        self.db.in_time(read).await
    }

    /// One conversation with its transcript, where `reserve` is asked for the memory that this will take before it is loaded;
    /// what it gives is held until then. Returns its refusal.
    pub async fn conversation_within<H, R>(
        &self,
        user: &UserId,
        conversation: &ConversationId,
        reserve: impl FnOnce(usize) -> Result<H, R>,
    ) -> Result<Result<Option<ConversationView>, R>, Error> {
        let read = async {
            let mut session = self.db.pool().acquire().await?;
            let _held = match reserve(transcripts_size(&mut session, user, &[conversation]).await?) {
                Ok(held) => held,
                Err(refused) => return Ok(Err(refused)),
            };
            let found = views(&mut session, &[(user, conversation)], true).await?;
            found.into_iter().next().map(|(_, view)| view).transpose().map(Ok)
        };
        self.db.in_time(read).await
    }
}

/// Conversations as `connection` sees them, each with its place in `named`; one that is not there is left out, and one
/// that cannot be read is an error for itself.
pub async fn views(
    connection: &mut PgConnection,
    named: &[(&UserId, &ConversationId)],
    with_transcript: bool,
) -> Result<Vec<(usize, Result<ConversationView, Error>)>, Error> {
    if named.is_empty() {
        return Ok(Vec::new());
    }
    let rows = query!(
        "conversations/views.sql",
        array(named, |(user, _)| user.as_str()),
        array(named, |(_, conversation)| conversation.as_str()),
        with_transcript
    )
    .fetch_all(connection)
    .await?;
    let mut found = Vec::with_capacity(rows.len());
    for row in &rows {
        let place: i64 = row.try_get("place")?;
        let view = ViewRow::from_row(row).map_err(Error::from).and_then(|row| row.view(with_transcript));
        found.extend(usize::try_from(place).ok().map(|place| (place, view)));
    }
    Ok(found)
}

/// A conversation as a list shows it, with what was said.
#[derive(FromRow)]
struct ViewRow {
    #[sqlx(flatten)]
    row: PageRow,
    #[sqlx(flatten)]
    segments: SegmentColumns,
    known_ids: Option<Vec<String>>,
    known_names: Option<Vec<String>>,
}

impl ViewRow {
    fn view(self, with_transcript: bool) -> Result<ConversationView, Error> {
        Ok(ConversationView {
            segments: with_transcript.then(|| self.segments.rows()),
            people: column(self.known_ids).zip(column(self.known_names)).collect(),
            ..self.row.view()?
        })
    }
}

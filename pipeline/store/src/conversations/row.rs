//! A conversation's row, read into `records::Conversation`.

use db::{Doing, Error};
use records::{Conversation, ConversationId, FolderId, Source, Structured, Timestamp, UserId};
use serde_json::Value;
use sqlx::{FromRow, PgConnection, postgres::PgRow};

use super::shapes;
use crate::reading::Cells;

/// What [`ConversationRow`] reads, in its order and before everything else that a statement reads; as a literal, so that
/// whole statements stay static.
macro_rules! conversation_columns {
    () => {
        "user_id, conversation_id, created_at, updated_at, started_at, finished_at, language, source, status, title, \
         overview, emoji, category, nullif(events, '[]') as events, nullif(apps_results, '[]') as apps_results, \
         folder_id, starred, visibility, discarded, geolocation, finalization_revision"
    };
}
pub(crate) use conversation_columns;

/// The same, in `select` lists and `returning` clauses that are put together.
pub(crate) const CONVERSATION_COLUMNS: &str = conversation_columns!();

/// The columns as the table holds them; most conversations have no events and no results of apps.
#[derive(Clone, Debug)]
pub(crate) struct ConversationRow {
    user_id: String,
    conversation_id: String,
    created_at: Timestamp,
    updated_at: Timestamp,
    started_at: Timestamp,
    finished_at: Timestamp,
    language: String,
    source: String,
    status: String,
    title: String,
    overview: String,
    emoji: String,
    category: String,
    events: Option<Value>,
    apps_results: Option<Value>,
    folder_id: Option<String>,
    starred: bool,
    visibility: String,
    discarded: bool,
    geolocation: Option<Value>,
    finalization_revision: i64,
}

impl ConversationRow {
    /// Reads the first cells of a row, those of [`conversation_columns`].
    pub(super) fn read(cells: &mut Cells<'_>) -> sqlx::Result<Self> {
        Ok(Self {
            user_id: cells.next()?,
            conversation_id: cells.next()?,
            created_at: cells.next()?,
            updated_at: cells.next()?,
            started_at: cells.next()?,
            finished_at: cells.next()?,
            language: cells.next()?,
            source: cells.next()?,
            status: cells.next()?,
            title: cells.next()?,
            overview: cells.next()?,
            emoji: cells.next()?,
            category: cells.next()?,
            events: cells.next()?,
            apps_results: cells.next()?,
            folder_id: cells.next()?,
            starred: cells.next()?,
            visibility: cells.next()?,
            discarded: cells.next()?,
            geolocation: cells.next()?,
            finalization_revision: cells.next()?,
        })
    }

    /// What apps made of it: (app id, content).
    pub(super) fn take_apps_results(&mut self) -> Result<Vec<(Option<String>, String)>, Error> {
        self.apps_results
            .take()
            .map_or(Ok(Vec::new()), shapes::apps_from_json)
            .map_err(|_| wrong(&self.conversation_id, "apps_results"))
    }
}

impl<'r> FromRow<'r, PgRow> for ConversationRow {
    fn from_row(row: &'r PgRow) -> sqlx::Result<Self> {
        Self::read(&mut Cells::of(row))
    }
}

impl TryFrom<ConversationRow> for Conversation {
    type Error = Error;

    fn try_from(row: ConversationRow) -> Result<Self, Error> {
        let id = row.conversation_id;
        Ok(Self {
            created_at: row.created_at,
            updated_at: row.updated_at,
            started_at: row.started_at,
            finished_at: row.finished_at,
            language: row.language,
            source: Source::new(row.source),
            status: row.status.parse().map_err(|_| wrong(&id, "status"))?,
            structured: Structured {
                title: row.title,
                overview: row.overview,
                emoji: row.emoji,
                category: row.category.parse().map_err(|_| wrong(&id, "category"))?,
                events: row
                    .events
                    .map_or(Ok(Vec::new()), shapes::events_from_json)
                    .map_err(|_| wrong(&id, "events"))?,
            },
            discarded: row.discarded,
            starred: row.starred,
            visibility: row.visibility.parse().map_err(|_| wrong(&id, "visibility"))?,
            folder_id: row.folder_id.map(FolderId::new),
            geolocation: row
                .geolocation
                .map(shapes::geolocation_from_json)
                .transpose()
                .map_err(|_| wrong(&id, "geolocation"))?,
            finalization_revision: row.finalization_revision,
            user_id: UserId::new(row.user_id),
            id: ConversationId::new(id),
        })
    }
}

/// Reads one conversation, whatever its status; takes no lock.
pub async fn read_conversation(
    connection: &mut PgConnection,
    user: &UserId,
    conversation: &ConversationId,
) -> Result<Option<Conversation>, Error> {
    let row: Option<ConversationRow> = sqlx::query_as(concat!(
        "select ",
        conversation_columns!(),
        " from conversations where user_id = $1 and conversation_id = $2"
    ))
    .bind(user.as_str())
    .bind(conversation.as_str())
    .fetch_optional(connection)
    .await
    .doing("reading a conversation")?;
    row.map(Conversation::try_from).transpose()
}

fn wrong(id: &str, column: &'static str) -> Error {
    Error::ImpossibleRow { table: "conversations", id: id.to_owned(), column }
}

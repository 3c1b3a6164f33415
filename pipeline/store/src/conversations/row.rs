//! A conversation's row, read into `records::Conversation`.

use db::{Error, query_as};
use records::{
    Category, Conversation, ConversationId, FolderId, Source, Status, Structured, Timestamp, UserId,
    Visibility,
};
use serde_json::Value;
use sqlx::PgConnection;

use super::shapes;

/// The columns as the table holds them; most conversations have no events and no results of apps.
#[derive(Clone, Debug, sqlx::FromRow)]
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
    /// What apps made of it: (app id, content).
    pub(super) fn take_apps_results(&mut self) -> Result<Vec<(Option<String>, String)>, Error> {
        self.apps_results
            .take()
            .map_or(Ok(Vec::new()), shapes::apps_from_json)
            .map_err(|_| wrong(&self.conversation_id, "apps_results"))
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
            status: Status::from_name(&row.status).ok_or_else(|| wrong(&id, "status"))?,
            structured: Structured {
                title: row.title,
                overview: row.overview,
                emoji: row.emoji,
                category: Category::from_name(&row.category).ok_or_else(|| wrong(&id, "category"))?,
                events: row
                    .events
                    .map_or(Ok(Vec::new()), shapes::events_from_json)
                    .map_err(|_| wrong(&id, "events"))?,
            },
            discarded: row.discarded,
            starred: row.starred,
            visibility: Visibility::from_name(&row.visibility).ok_or_else(|| wrong(&id, "visibility"))?,
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
    let row: Option<ConversationRow> =
        query_as!("conversations/get.sql", user, conversation).fetch_optional(connection).await?;
    row.map(Conversation::try_from).transpose()
}

fn wrong(id: &str, column: &'static str) -> Error {
    Error::ImpossibleRow { table: "conversations", id: id.to_owned(), column }
}

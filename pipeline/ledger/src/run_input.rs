//! What a run reads, once per revision, before its first paid call.

use db::{Error, query_as};
use records::{Background, Folder, FolderId, Segment, Timestamp};
use serde_json::Value;
use sqlx::FromRow;
use store::columns::{SegmentColumns, column};
use store::conversations::shapes::meeting_from_json;

use crate::{Ledger, StoredJob};

#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    Text(String),
    /// Transcript segments; may be empty.
    Segments(Vec<Segment>),
}

/// Everything that the stages of one run read.
#[derive(Clone, Debug, PartialEq)]
pub struct RunInput {
    /// When the conversation began: what its dates are counted from.
    pub started_at: Timestamp,
    pub language: String,
    pub content: Content,
    /// What is known of it beside them, with the oldest pictures that are described already.
    pub background: Background,
    pub user_name: Option<String>,
    /// The IANA name of the zone that the person lives in now.
    pub time_zone: String,
    /// The apps that the person asked for, in their order.
    pub apps: Vec<String>,
    /// The prompt apps that the user installed: ids and prompts, in the order in which they were installed.
    pub prompt_apps: Vec<(String, String)>,
    pub folders: Vec<Folder>,
    /// The person's action items created in the 2 days before now, not of this conversation, newest first, at most 500.
    pub recent_items: Vec<RecentItem>,
    /// What the person's memories say, newest first, not of this conversation, at most 1,000.
    pub memories: Vec<String>,
    /// Names of those whom the transcript names by id, as far as the user knows them.
    pub people: Vec<(String, String)>,
}

/// An action item that new ones are compared with.
#[derive(Clone, Debug, PartialEq)]
pub struct RecentItem {
    pub id: String,
    pub description: String,
    pub due_at: Option<Timestamp>,
}

impl Ledger {
    /// Reads the input of a run; `None` when the conversation is gone.
    pub async fn run_input(&self, claimed: &StoredJob) -> Result<Option<RunInput>, Error> {
        let read = async {
            let row: Option<InputRow> =
                query_as!("run_input.sql", &claimed.user_id, &claimed.conversation_id)
                    .fetch_optional(self.db.pool())
                    .await?;
            Ok(row.map(RunInput::from))
        };
        self.db.in_time(read).await
    }
}

#[derive(FromRow)]
struct InputRow {
    started_at: Timestamp,
    language: String,
    private_text: Option<String>,
    text_source: Option<String>,
    text_source_spec: Option<String>,
    meeting: Option<Value>,
    pictures: Option<Vec<String>>,
    user_name: Option<String>,
    time_zone: String,
    apps: Vec<String>,
    #[sqlx(flatten)]
    segments: SegmentColumns,
    item_ids: Option<Vec<String>>,
    descriptions: Option<Vec<String>>,
    items_due_at: Option<Vec<Option<Timestamp>>>,
    memories: Option<Vec<String>>,
    folder_ids: Option<Vec<String>>,
    folder_names: Option<Vec<String>>,
    folder_descriptions: Option<Vec<Option<String>>>,
    known_ids: Option<Vec<String>>,
    known_names: Option<Vec<String>>,
    prompt_app_ids: Option<Vec<String>>,
    prompts: Option<Vec<String>>,
}

impl From<InputRow> for RunInput {
    fn from(row: InputRow) -> Self {
        Self {
            started_at: row.started_at,
            language: row.language,
            content: match row.private_text {
                Some(text) => Content::Text(text),
                None => Content::Segments(row.segments.rows()),
            },
            background: Background {
                kind: kind_of_text(row.text_source, row.text_source_spec),
                meeting: row.meeting.as_ref().and_then(meeting_from_json),
                pictures: row.pictures.unwrap_or_default(),
            },
            user_name: row.user_name,
            time_zone: row.time_zone,
            apps: row.apps,
            prompt_apps: column(row.prompt_app_ids).zip(column(row.prompts)).collect(),
            folders: column(row.folder_ids)
                .zip(column(row.folder_names))
                .zip(column(row.folder_descriptions))
                .map(|((id, name), description)| Folder { id: FolderId::new(id), name, description })
                .collect(),
            recent_items: column(row.item_ids)
                .zip(column(row.descriptions))
                .zip(column(row.items_due_at))
                .map(|((id, description), due_at)| RecentItem { id, description, due_at })
                .collect(),
            memories: row.memories.unwrap_or_default(),
            people: column(row.known_ids).zip(column(row.known_names)).collect(),
        }
    }
}

/// What a text is, in words; `other_text` says nothing.
fn kind_of_text(source: Option<String>, spec: Option<String>) -> Option<String> {
    let source = source.filter(|source| source != "other_text");
    let kind = source.into_iter().chain(spec).collect::<Vec<_>>().join(": ");
    Some(kind).filter(|kind| !kind.is_empty())
}

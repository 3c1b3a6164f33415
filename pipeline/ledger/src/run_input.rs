//! What a run reads, once per revision, before its first paid call.

use db::Error;
use records::{Background, Folder, FolderId, Segment, Timestamp};
use serde_json::Value;
use sqlx::FromRow;
use store::columns::{PeopleColumns, SegmentColumns, column};
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

/// An action item, as far as new ones are compared with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecentItem {
    pub id: String,
    pub description: String,
    pub due_at: Option<Timestamp>,
}

impl Ledger {
    /// Reads the input of a run; `None` when the conversation is gone.
    pub async fn run_input(&self, claimed: &StoredJob) -> Result<Option<RunInput>, Error> {
        let read = async {
            let row: Option<InputRow> = sqlx::query_as(include_str!("../sql/run_input.sql"))
                .bind(claimed.user_id.as_str())
                .bind(claimed.conversation_id.as_str())
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
    #[sqlx(flatten)]
    background: BackgroundRow,
    user_name: Option<String>,
    time_zone: String,
    apps: Vec<String>,
    #[sqlx(flatten)]
    segments: SegmentColumns,
    #[sqlx(flatten)]
    items: Items,
    memories: Option<Vec<String>>,
    #[sqlx(flatten)]
    folders: Folders,
    #[sqlx(flatten)]
    people: PeopleColumns,
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
            background: row.background.into(),
            user_name: row.user_name,
            time_zone: row.time_zone,
            apps: row.apps,
            prompt_apps: column(row.prompt_app_ids).zip(column(row.prompts)).collect(),
            folders: row.folders.rows(),
            recent_items: row.items.rows(),
            memories: row.memories.unwrap_or_default(),
            people: row.people.rows(),
        }
    }
}

#[derive(FromRow)]
struct BackgroundRow {
    text_source: Option<String>,
    text_source_spec: Option<String>,
    meeting: Option<Value>,
    pictures: Option<Vec<String>>,
}

impl From<BackgroundRow> for Background {
    /// `other_text` says nothing.
    fn from(row: BackgroundRow) -> Self {
        let source = row.text_source.filter(|source| source != "other_text");
        let kind = source.into_iter().chain(row.text_source_spec).collect::<Vec<_>>().join(": ");
        Self {
            kind: Some(kind).filter(|kind| !kind.is_empty()),
            meeting: row.meeting.and_then(meeting_from_json),
            pictures: row.pictures.unwrap_or_default(),
        }
    }
}

#[derive(FromRow)]
struct Items {
    item_ids: Option<Vec<String>>,
    descriptions: Option<Vec<String>>,
    items_due_at: Option<Vec<Option<Timestamp>>>,
}

impl Items {
    fn rows(self) -> Vec<RecentItem> {
        let (mut ids, mut descriptions) = (column(self.item_ids), column(self.descriptions));
        let mut dues = column(self.items_due_at);
        let next =
            || Some(RecentItem { id: ids.next()?, description: descriptions.next()?, due_at: dues.next()? });
        std::iter::from_fn(next).collect()
    }
}

#[derive(FromRow)]
struct Folders {
    folder_ids: Option<Vec<String>>,
    folder_names: Option<Vec<String>>,
    folder_descriptions: Option<Vec<Option<String>>>,
}

impl Folders {
    fn rows(self) -> Vec<Folder> {
        let (mut ids, mut names) = (column(self.folder_ids), column(self.folder_names));
        let mut descriptions = column(self.folder_descriptions);
        let next = || {
            Some(Folder {
                id: FolderId::new(ids.next()?),
                name: names.next()?,
                description: descriptions.next()?,
            })
        };
        std::iter::from_fn(next).collect()
    }
}

//! What a run reads, once per revision, before its first paid call.

use std::collections::HashMap;

use db::{Error, query_as};
use records::{Background, Folder, FolderId, Line, Segment, Talk, Timestamp};
use serde_json::Value;
use sqlx::FromRow;
use store::columns::{SegmentColumns, column};
use store::conversations::shapes::meeting_from_json;

use crate::{Ledger, StoredJob};

/// Everything that the stages of one run read.
#[derive(Clone, Debug, PartialEq)]
pub struct RunInput {
    /// The words, with the oldest pictures that are described already.
    pub talk: Talk,
    /// The apps that the person asked for, in their order.
    pub apps: Vec<String>,
    /// The prompt apps that the user installed: ids and prompts, in the order in which they were installed.
    pub prompt_apps: Vec<(String, String)>,
    pub folders: Vec<Folder>,
    /// The person's action items created in the 2 days before now, not of this conversation, newest first, at most 500.
    pub recent_items: Vec<RecentItem>,
    /// What the person's memories say, newest first, not of this conversation, at most 1,000.
    pub memories: Vec<String>,
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
        // Names of those whom the transcript names by id, as far as the user knows them.
        let people = column(row.known_ids).zip(column(row.known_names)).collect();
        let lines = match row.private_text {
            Some(text) => Talk::lines_of_text(&text),
            None => named_lines(&row.segments.rows(), row.user_name.as_deref(), &people),
        };
        Self {
            talk: Talk {
                lines,
                started_at: row.started_at,
                // As it is now, not as it was at the admission: dates are to be in the zone that the person lives in (DESIGN §6).
                // Only names that are known are stored; should one be dropped from the list, UTC is honest.
                time_zone: row.time_zone.parse().unwrap_or_default(),
                language: row.language,
                user_name: row.user_name,
                background: Background {
                    kind: kind_of_text(row.text_source, row.text_source_spec),
                    meeting: row.meeting.as_ref().and_then(meeting_from_json),
                    pictures: row.pictures.unwrap_or_default(),
                },
            },
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
        }
    }
}

/// The lines of a transcript. Speakers go by the names that the developer interface shows (DECISIONS §3, "speaker").
fn named_lines(segments: &[Segment], user_name: Option<&str>, people: &HashMap<String, String>) -> Vec<Line> {
    let name = |segment: &Segment| match segment.person_id.as_ref().and_then(|person| people.get(person)) {
        _ if segment.is_user => user_name.unwrap_or("User").to_owned(),
        Some(name) => name.clone(),
        None => segment.speaker_id.map_or_else(|| "Speaker".to_owned(), |number| format!("Speaker {number}")),
    };
    let line = |segment: &Segment| Line {
        speaker: Some(name(segment)),
        is_user: segment.is_user,
        text: segment.text.clone(),
    };
    segments.iter().map(line).collect()
}

/// What a text is, in words; `other_text` says nothing.
fn kind_of_text(source: Option<String>, spec: Option<String>) -> Option<String> {
    let source = source.filter(|source| source != "other_text");
    let kind = source.into_iter().chain(spec).collect::<Vec<_>>().join(": ");
    Some(kind).filter(|kind| !kind.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(speaker_id: i32, is_user: bool, person: Option<&str>) -> Segment {
        Segment {
            id: None,
            text: "Good morning".to_owned(),
            speaker: None,
            speaker_id: Some(speaker_id),
            is_user,
            person_id: person.map(str::to_owned),
            start: 0.0,
            end: 1.0,
        }
    }

    #[test]
    fn speakers_have_the_names_the_user_gave() {
        let segments = [
            segment(0, true, None),
            segment(1, false, Some("p1")),
            segment(2, false, Some("unknown")),
            segment(3, false, None),
            segment(4, true, Some("p1")),
        ];
        let people = HashMap::from([("p1".to_owned(), "Ada".to_owned())]);
        let lines = named_lines(&segments, Some("Kim"), &people);
        let names: Vec<_> = lines.iter().map(|line| line.speaker.as_deref().unwrap_or("")).collect();
        assert_eq!(names, ["Kim", "Ada", "Speaker 2", "Speaker 3", "Kim"]);
    }
}

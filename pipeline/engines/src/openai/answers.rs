//! The shapes in which a model answers, and the drafts that they are read as. Words, numbers and dates are
//! taken as they come: what is fit to be kept is checked where every engine's output is (`stages`).

use chrono::Duration;
use records::{Category, Folder, MemoryCategory, Talk};
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use stages::{EventDraft, ItemDraft, MemoryDraft, Structure, Survey, Verdict};

use super::{schema, when};

/// Tasks, memories or events of an answer, and lines that one of them rests on: more is no reading of a talk, and each is
/// compared with others.
const MOST: usize = 1_000;
const MOST_LINES: usize = 50;

/// The length of an event without a stated one.
const DEFAULT_MINUTES: i32 = 30;

/// Whether a talk is worth keeping.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Judgement {
    /// One short sentence.
    #[serde(default)]
    #[expect(dead_code, reason = "written first so that the verdict follows from it; it is not read")]
    reason: String,
    /// false only for noise.
    keep: bool,
}

impl Judgement {
    pub(super) fn verdict(&self) -> Verdict {
        if self.keep { Verdict::Keep } else { Verdict::Discard }
    }
}

/// What a talk, or a part of it, is about.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Description {
    title: String,
    overview: String,
    #[schemars(schema_with = "schema::category")]
    #[serde(default)]
    category: String,
    #[serde(default)]
    emoji: String,
    #[serde(default)]
    events: Vec<HeardEvent>,
    /// The number of a folder, or null.
    #[serde(default)]
    folder: Option<i64>,
}

/// What a talk is about that was read in parts; its events were found in those.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Merged {
    title: String,
    overview: String,
    #[schemars(schema_with = "schema::category")]
    #[serde(default)]
    category: String,
    #[serde(default)]
    emoji: String,
    /// The number of a folder, or null.
    #[serde(default)]
    folder: Option<i64>,
}

#[derive(Deserialize, JsonSchema)]
struct HeardEvent {
    title: String,
    #[serde(default)]
    description: String,
    /// The words that name its time, as they were said.
    #[serde(default)]
    when_words: Option<String>,
    /// YYYY-MM-DDTHH:MM or YYYY-MM-DD.
    #[serde(default)]
    when_local: Option<String>,
    #[serde(default)]
    duration_minutes: Option<i64>,
}

impl Description {
    pub(super) fn structure(self, talk: &Talk, folders: &[Folder]) -> Structure {
        Structure {
            title: self.title,
            overview: self.overview,
            category: category(&self.category),
            emoji: self.emoji,
            events: self.events.into_iter().take(MOST).filter_map(|event| event.draft(talk)).collect(),
            folder_id: folder_id(self.folder, folders),
        }
    }
}

impl Merged {
    pub(super) fn structure(self, events: Vec<EventDraft>, folders: &[Folder]) -> Structure {
        Structure {
            title: self.title,
            overview: self.overview,
            category: category(&self.category),
            emoji: self.emoji,
            events,
            folder_id: folder_id(self.folder, folders),
        }
    }
}

fn category(name: &str) -> Category {
    Category::from_name(&name.trim().to_lowercase()).unwrap_or(Category::Other)
}

/// Folders are numbered from 1.
fn folder_id(number: Option<i64>, folders: &[Folder]) -> Option<String> {
    let index = usize::try_from(number?).ok()?.checked_sub(1)?;
    folders.get(index).map(|folder| folder.id.as_str().to_owned())
}

impl HeardEvent {
    fn draft(self, talk: &Talk) -> Option<EventDraft> {
        let start = when::start(self.when_words.as_deref(), self.when_local.as_deref(), talk)?;
        let minutes = self.duration_minutes.and_then(|minutes| i32::try_from(minutes).ok());
        Some(EventDraft {
            title: self.title,
            description: self.description,
            start,
            duration: minutes.unwrap_or(DEFAULT_MINUTES),
        })
    }
}

/// What is to be done.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Tasks {
    tasks: Vec<Task>,
}

#[derive(Deserialize, JsonSchema)]
struct Task {
    /// Where it was said.
    #[serde(default)]
    lines: Vec<i64>,
    description: String,
    #[serde(default)]
    owner: Option<String>,
    /// The words that say when it is due, as they were said.
    #[serde(default)]
    due_words: Option<String>,
    /// YYYY-MM-DDTHH:MM or YYYY-MM-DD.
    #[serde(default)]
    due_local: Option<String>,
}

impl Tasks {
    pub(super) fn drafts(self, talk: &Talk) -> Vec<ItemDraft> {
        self.tasks.into_iter().take(MOST).map(|task| task.draft(talk)).collect()
    }
}

impl Task {
    fn draft(self, talk: &Talk) -> ItemDraft {
        ItemDraft {
            due_at: when::due(self.due_words.as_deref(), self.due_local.as_deref(), talk),
            description: self.description,
            owner: self.owner,
            evidence: Some(evidence(self.lines)),
        }
    }
}

/// What is worth remembering.
#[derive(Deserialize, JsonSchema)]
pub(super) struct MemoryList {
    memories: Vec<Fact>,
}

#[derive(Deserialize, JsonSchema)]
struct Fact {
    /// Where it was said.
    #[serde(default)]
    lines: Vec<i64>,
    content: String,
    #[schemars(schema_with = "schema::memory_category")]
    #[serde(default)]
    category: String,
}

impl MemoryList {
    pub(super) fn drafts(self) -> Vec<MemoryDraft> {
        let draft = |fact: Fact| MemoryDraft {
            content: fact.content,
            category: MemoryCategory::from_name(&fact.category.trim().to_lowercase())
                .unwrap_or(MemoryCategory::Other),
            evidence: Some(evidence(fact.lines)),
        };
        self.memories.into_iter().take(MOST).map(draft).collect()
    }
}

fn evidence(lines: Vec<i64>) -> Vec<u32> {
    lines.into_iter().take(MOST_LINES).filter_map(|line| u32::try_from(line).ok()).collect()
}

/// The answers of a survey, in the shape that is asked for.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used: its parts are read one by one")]
pub(super) struct Reading {
    description: Description,
    tasks: Vec<Task>,
    memories: Vec<Fact>,
}

/// What a survey found; a part without the agreed shape is missing, and spoils no other.
pub(super) fn survey(mut answer: Map<String, Value>, talk: &Talk, folders: &[Folder]) -> Survey {
    let description: Option<Description> = part(&mut answer, "description");
    let tasks: Option<Vec<Task>> = part(&mut answer, "tasks");
    let memories: Option<Vec<Fact>> = part(&mut answer, "memories");
    Survey {
        structure: description.map(|description| description.structure(talk, folders)),
        items: tasks.map(|tasks| Tasks { tasks }.drafts(talk)),
        memories: memories.map(|memories| MemoryList { memories }.drafts()),
    }
}

fn part<T: DeserializeOwned>(answer: &mut Map<String, Value>, name: &str) -> Option<T> {
    serde_json::from_value(answer.remove(name)?).ok()
}

/// The events of a talk's parts, each once although parts overlap: what begins with an event of a part before is that event.
/// Those of one part may begin together, as all do that are of one day and have no time.
pub(super) fn events_of(parts: &[Structure]) -> Vec<EventDraft> {
    let mut events = Vec::<EventDraft>::new();
    for part in parts {
        let before = events.len();
        for event in &part.events {
            let near = |other: &EventDraft| (other.start - event.start).abs() < Duration::minutes(1);
            if !events.iter().take(before).any(near) && !events.contains(event) {
                events.push(event.clone());
            }
        }
    }
    events
}

/// An app's text.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Text {
    pub(super) content: String,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn answer_of_more_than_a_reading_of_a_talk_is_read_to_a_limit() {
        let talk = Talk {
            lines: vec![],
            started_at: chrono::DateTime::from_timestamp(1_800_000_000, 0).unwrap_or_default(),
            time_zone: chrono_tz::UTC,
            language: "en".to_owned(),
            user_name: None,
            background: records::Background::default(),
        };
        let task = json!({ "description": "Order tiles", "lines": vec![1; 60] });
        let fact = json!({ "content": "Anna likes tiles" });
        let answer = json!({ "tasks": vec![task; 1_200], "memories": vec![fact; 1_200] });
        let read = survey(answer.as_object().cloned().unwrap_or_default(), &talk, &[]);
        let items = read.items.unwrap_or_default();
        let lines = items.first().and_then(|item| item.evidence.as_ref()).map(Vec::len);
        assert_eq!(
            (items.len(), lines, read.memories.map(|memories| memories.len())),
            (1_000, Some(50), Some(1_000))
        );
    }
}

//! The shapes in which a model answers, and the checks that turn them into drafts. What a schema cannot
//! enforce everywhere (lengths, counts, closed lists) is enforced here, whatever the server promised.

use records::{Category, Folder, MemoryCategory, Talk};
use schemars::JsonSchema;
use serde::Deserialize;
use stages::{EventDraft, ItemDraft, MemoryDraft, Structure, Verdict};

use super::{clean, schema, when};

const MAX_EVENTS: usize = 20;
const MAX_ITEMS: usize = 50;
const MAX_MEMORIES: usize = 4;
const MAX_WORDS: usize = 15;
const MAX_TITLE: usize = 80;
const MAX_LINE: usize = 500;
const MAX_TEXT: usize = 8_000;
const DEFAULT_EMOJI: &str = "🧠";
const DEFAULT_MINUTES: i32 = 30;

/// Whether a talk is worth keeping.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Judgement {
    /// One short sentence.
    #[serde(default)]
    #[expect(dead_code, reason = "written first so that the verdict follows from it; nobody reads it")]
    reason: String,
    /// false only for noise.
    keep: bool,
}

impl Judgement {
    pub(super) fn verdict(&self) -> Verdict {
        if self.keep { Verdict::Keep } else { Verdict::Discard }
    }
}

/// What a talk is about.
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
    /// The structure, or nothing when title or overview are empty once cleaned.
    pub(super) fn structure(self, talk: &Talk, folders: &[Folder]) -> Option<Structure> {
        let title = clean::title(&self.title, MAX_TITLE);
        let overview = clean::text(&self.overview, MAX_TEXT);
        if title.is_empty() || overview.is_empty() {
            return None;
        }
        let number = self.folder.and_then(|number| usize::try_from(number).ok()?.checked_sub(1));
        let folder = number.and_then(|index| folders.get(index));
        Some(Structure {
            title,
            overview,
            category: self.category.trim().to_lowercase().parse().unwrap_or(Category::Other),
            emoji: clean::emoji(&self.emoji).unwrap_or(DEFAULT_EMOJI).to_owned(),
            events: self.events.into_iter().filter_map(|event| event.draft(talk)).take(MAX_EVENTS).collect(),
            folder_id: folder.map(|folder| folder.id.as_str().to_owned()),
        })
    }
}

impl HeardEvent {
    fn draft(self, talk: &Talk) -> Option<EventDraft> {
        let title = clean::line(&self.title, MAX_LINE);
        let start = when::resolve(self.when_words.as_deref(), self.when_local.as_deref(), talk)?;
        let minutes = self.duration_minutes.and_then(|minutes| i32::try_from(minutes).ok());
        let duration = minutes.filter(|minutes| (1..=24 * 60).contains(minutes)).unwrap_or(DEFAULT_MINUTES);
        let description = clean::line(&self.description, MAX_LINE);
        (!title.is_empty()).then_some(EventDraft { title, description, start, duration })
    }
}

/// What is to be done.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Tasks {
    tasks: Vec<Task>,
}

#[derive(Deserialize, JsonSchema)]
struct Task {
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
        let mut drafts: Vec<ItemDraft> = Vec::new();
        for task in self.tasks.into_iter().take(MAX_ITEMS) {
            let description = clean::words(&clean::line(&task.description, MAX_LINE), MAX_WORDS);
            let known = drafts.iter().any(|draft| draft.description.eq_ignore_ascii_case(&description));
            if description.is_empty() || known {
                continue;
            }
            let owner =
                task.owner.map(|owner| clean::line(&owner, MAX_TITLE)).filter(|owner| !owner.is_empty());
            let due_at = when::resolve(task.due_words.as_deref(), task.due_local.as_deref(), talk);
            drafts.push(ItemDraft { description, owner, due_at });
        }
        drafts
    }
}

/// What is worth remembering.
#[derive(Deserialize, JsonSchema)]
pub(super) struct MemoryList {
    memories: Vec<Fact>,
}

#[derive(Deserialize, JsonSchema)]
struct Fact {
    content: String,
    #[schemars(schema_with = "schema::memory_category")]
    #[serde(default)]
    category: String,
}

impl MemoryList {
    /// At most four. A fact that is too long is dropped and not cut: half a fact may say the opposite. One
    /// that gives orders is dropped too: a memory is read again by later models.
    pub(super) fn drafts(self) -> Vec<MemoryDraft> {
        let facts = self.memories.into_iter().map(|fact| MemoryDraft {
            content: clean::line(&fact.content, MAX_LINE),
            category: fact.category.trim().to_lowercase().parse().unwrap_or(MemoryCategory::Other),
        });
        let fits = |draft: &MemoryDraft| {
            let words = draft.content.split_whitespace().count();
            (1..=MAX_WORDS).contains(&words) && !clean::gives_orders(&draft.content)
        };
        facts.filter(fits).take(MAX_MEMORIES).collect()
    }
}

/// An app's text.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Text {
    content: String,
}

impl Text {
    pub(super) fn cleaned(&self) -> String {
        clean::text(&self.content, MAX_TEXT)
    }
}

//! What the stages produce: the shapes that checkpoints keep. Renaming a field, or changing what it
//! means, is a new `VERSION` of its stage.

use records::{Category, MemoryCategory, Timestamp};
use serde::{Deserialize, Serialize};

/// Whether a conversation is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It goes on through the stages.
    Keep,
    /// Not meaningful enough to keep (spec, "What the service does", 1).
    Discard,
}

/// Title, overview, category, emoji, events and perhaps a folder (DECISIONS §5, `describe`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Structure {
    /// At most 80 characters, without a trailing stop.
    pub title: String,
    /// A summary in plain text.
    pub overview: String,
    /// One of the 33.
    #[serde(with = "by_name::category")]
    pub category: Category,
    /// Exactly one emoji.
    pub emoji: String,
    /// Calendar events that were heard.
    pub events: Vec<EventDraft>,
    /// The id of the folder that fits, if one does.
    pub folder_id: Option<String>,
}

/// A calendar event that was heard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventDraft {
    /// What it is called.
    pub title: String,
    /// More words about it; may be empty.
    pub description: String,
    /// When it begins.
    pub start: Timestamp,
    /// Minutes.
    pub duration: i32,
}

/// An action item before it has an identity (DECISIONS §5, `extract_action_items`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ItemDraft {
    /// At most 15 words.
    pub description: String,
    /// Who is to do it: a speaker's name, a name that was spoken, or unknown.
    pub owner: Option<String>,
    /// When it is due, resolved in the person's time zone.
    pub due_at: Option<Timestamp>,
    /// The lines of the talk that it rests on, counted from 1; nothing from an engine that quotes, and
    /// nothing once it was checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Vec<u32>>,
}

/// What the item stage decided: new items, and due dates for older items that had none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Items {
    /// To be created.
    pub new: Vec<ItemDraft>,
    /// (id of an item of the last two days that this talk repeats, the due date it takes over).
    pub due_dates: Vec<(String, Timestamp)>,
    /// The engine does not read the language of the talk for items: none were looked for.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unread: bool,
}

/// A memory before it has an identity (DECISIONS §5, `extract_memories`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryDraft {
    /// At most 15 words, about the user.
    pub content: String,
    /// One of the ten.
    #[serde(with = "by_name::memory_category")]
    pub category: MemoryCategory,
    /// The lines of the talk that it rests on, as of an item.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Vec<u32>>,
}

/// What one reading of a talk answered for several stages. A part that is missing is asked for by itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Survey {
    /// For `describe`.
    pub structure: Option<Structure>,
    /// For `extract_action_items`.
    pub items: Option<Vec<ItemDraft>>,
    /// For `extract_memories`.
    pub memories: Option<Vec<MemoryDraft>>,
}

/// A vector and the model it came from; vectors of different models are never compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Embedding {
    /// The model's name, for example `hash-512`.
    pub model: String,
    /// The vector; its length is the model's.
    pub vector: Vec<f32>,
}

/// What one summarization app made of the conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppResult {
    /// `minutes`, `decisions` or `questions`.
    pub app_id: String,
    /// Plain text; empty results are dropped.
    pub content: String,
}

/// What is on a picture.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhotoDescription {
    /// The picture's id in its conversation.
    pub id: String,
    /// Plain text, never empty.
    pub description: String,
}

/// Enums of `records` are kept by name, so that a checkpoint outlives a reordering.
mod by_name {
    macro_rules! by_name {
        ($module:ident, $kind:ty) => {
            pub(in crate::drafts) mod $module {
                use serde::{Deserialize, Deserializer, Serializer, de::Error};

                pub(in crate::drafts) fn serialize<S: Serializer>(
                    value: &$kind,
                    to: S,
                ) -> Result<S::Ok, S::Error> {
                    to.serialize_str(value.as_str())
                }

                pub(in crate::drafts) fn deserialize<'de, D: Deserializer<'de>>(
                    from: D,
                ) -> Result<$kind, D::Error> {
                    let name = String::deserialize(from)?;
                    <$kind>::from_name(&name).ok_or_else(|| D::Error::custom("an unknown name"))
                }
            }
        };
    }
    by_name!(category, records::Category);
    by_name!(memory_category, records::MemoryCategory);
}

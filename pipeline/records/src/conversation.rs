//! A conversation and the closed lists that describe it.

use std::fmt;

use crate::{Category, ConversationId, FolderId, Timestamp, UserId, named};

named! {
    /// Where a conversation stands (spec, "Conversation status").
    Status { InProgress = "in_progress", Processing = "processing", Completed = "completed", Failed = "failed" }
}

named! {
    /// Who may see a conversation (spec, "Conversation").
    Visibility { Private = "private", Shared = "shared", Public = "public" }
}

/// Where a conversation came from: one of the eight generic values of the spec, or a vendor's name
/// out of the configured list (DECISIONS §1). The API decides which vendor names are accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source(String);

impl Source {
    /// The eight generic values (spec, "Source enumeration").
    pub const GENERIC: [&'static str; 8] = [
        "phone",
        "phone_call",
        "desktop",
        "workflow",
        "sdcard",
        "external_integration",
        "onboarding",
        "unknown",
    ];
    /// The vendor values that are accepted by default (DECISIONS §1).
    pub const VENDORS: [&'static str; 12] = [
        "friend",
        "omi",
        "fieldy",
        "bee",
        "plaud",
        "frame",
        "friend_com",
        "apple_watch",
        "openglass",
        "screenpipe",
        "limitless",
        "rayban_meta",
    ];

    /// Takes a name that the API has already accepted, or that a row holds.
    pub fn new(name: impl Into<String>) -> Self {
        Self(name.into())
    }

    /// The name on the wire.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Where on Earth: latitude −90..=90, longitude −180..=180 (DECISIONS §1), validated by the API.
#[derive(Clone, Debug, PartialEq, sqlx::FromRow)]
pub struct Geolocation {
    /// Degrees north.
    pub latitude: f64,
    /// Degrees east.
    pub longitude: f64,
    /// A postal address, when known.
    pub address: Option<String>,
    /// The place's id at its provider, when known.
    pub google_place_id: Option<String>,
    /// For example `premise` or `street_address`.
    pub location_type: Option<String>,
}

/// A calendar event that was heard (DECISIONS §1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// What it is called.
    pub title: String,
    /// More words about it; may be empty.
    pub description: String,
    /// When it begins.
    pub start: Timestamp,
    /// How long it lasts, in minutes.
    pub duration: i32,
    /// Whether a calendar entry was made of it.
    pub created: bool,
}

/// What was made out of a conversation (spec, "Structured"). Action items are kept apart and read live.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Structured {
    /// Generated, or set by the person.
    pub title: String,
    /// A summary.
    pub overview: String,
    /// One emoji.
    pub emoji: String,
    /// One of the 33.
    pub category: Category,
    /// Calendar events that were heard.
    pub events: Vec<Event>,
}

impl Default for Structured {
    fn default() -> Self {
        Self {
            title: String::new(),
            overview: String::new(),
            emoji: "🧠".to_owned(),
            category: Category::Other,
            events: Vec::new(),
        }
    }
}

/// A stored conversation, without its words (those are `Segment`s, or a private text).
#[derive(Clone, Debug, PartialEq)]
pub struct Conversation {
    /// Whose it is.
    pub user_id: UserId,
    /// Its id, unique per user.
    pub id: ConversationId,
    /// When the record was made.
    pub created_at: Timestamp,
    /// When anything of it last changed.
    pub updated_at: Timestamp,
    /// When the talk began.
    pub started_at: Timestamp,
    /// When the talk ended.
    pub finished_at: Timestamp,
    /// A language code such as `en`.
    pub language: String,
    /// Where it came from.
    pub source: Source,
    /// Where it stands.
    pub status: Status,
    /// What was made out of it.
    pub structured: Structured,
    /// Hidden from the list.
    pub discarded: bool,
    /// Marked by the person.
    pub starred: bool,
    /// Who may see it.
    pub visibility: Visibility,
    /// The folder it is filed in.
    pub folder_id: Option<FolderId>,
    /// Where it took place.
    pub geolocation: Option<Geolocation>,
    /// How often it was admitted for finalization.
    pub finalization_revision: i64,
}

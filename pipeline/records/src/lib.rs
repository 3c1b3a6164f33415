//! What is kept: the plain, validated things that the service remembers of a person.
//!
//! Nothing here is `Serialize`: wire shapes live in `api`, checkpoint shapes in `stages`. What is one row of a table says how it is
//! read (`FromRow`); statements, and rows that are something else, live in `store`, `outbox` and `ledger`. Constructors refuse;
//! inside, nothing is checked twice.

mod apps;
mod budget;
mod category;
mod conversation;
mod extracted;
mod goal;
mod ids;
mod known;
mod line;
mod script;
mod segment;
mod talk;
mod webhook;

pub use apps::APPS;
pub use budget::{Budget, OverBudget};
pub use category::{Category, MemoryCategory};
pub use conversation::{Conversation, Event, Geolocation, Source, Status, Structured, Visibility};
pub use extracted::{ActionItem, Folder, Memory};
pub use goal::{Goal, GoalFault, GoalType, Measure};
pub use ids::{ActionItemId, ConversationId, FolderId, GoalId, MemoryId, UserId};
pub use known::{KnownTexts, SameThing};
pub use line::is_one_line;
pub use names::named;
pub use script::is_unspaced;
pub use segment::Segment;
pub use talk::{Background, Line, Meeting, Talk};
pub use webhook::{EventKind, WebhookFormat};

/// A moment, in UTC. It is always an argument, never read from a clock here.
pub type Timestamp = chrono::DateTime<chrono::Utc>;

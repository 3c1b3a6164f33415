//! A user's data: conversations with their segments, action items, memories, folders, goals, people, apps, messages,
//! keys and budgets.
//!
//! [`Store`] reads and changes it. What also queues a job or tells others (a finalization, an action item that is
//! created) is an operation of `ledger`, which writes all of it in one transaction; for those the modules that are
//! public here offer what they share.

#![allow(missing_docs, reason = "where a name says it all")]

mod apps;
pub mod budgets;
pub mod columns;
pub mod conversations;
mod folders;
mod goals;
pub mod items;
mod keys;
mod known_people;
pub mod live;
mod location;
pub mod memories;
mod messages;
mod paging;
mod search;
pub mod segments;
pub mod users;

use db::Db;

pub use apps::{
    App, AppFields, AppFilter, AppKey, AppKeyOwner, AppKeyRefusal, AppVisibility, InstallRefusal,
    InstalledApp, KeptManifest, NewApp, NewAppKey, Stored, TooManyApps,
};
pub use budgets::{Budgets, LimitsChange, OwnLimits, UserBudget};
pub use conversations::{
    ConversationChange, ConversationFilter, ConversationView, InProgress, StatusFilter, views,
};
pub use folders::{DeletedFolder, FolderChange, FolderView, NewFolder};
pub use goals::{GoalChange, GoalFilter, GoalPoint, GoalRefusal, NewGoal};
pub use items::ItemFilter;
pub use keys::{Key, KeyOwner, KeyRefusal, NewKey};
pub use known_people::KnownPerson;
pub use live::{
    Appended, AssignedSpeaker, LIVE_GRACE, LiveConversation, LiveLost, LiveUsage, LiveView, NewLive, Photo,
    PhotoRefusal, SegmentIds,
};
pub use memories::MemoryFilter;
pub use messages::{BegunTurn, ChatMessage, FinishedTurn, NewTurn};
pub use paging::DatePage;
pub use search::{ConversationLine, Found, FoundKind, ITEMS_NOT_READ, SearchQuery, TaskFilter};
pub use segments::AppendRefusal;
pub use users::{User, UserChange};

/// A user's data in one process's database. Cheap to clone.
#[derive(Clone)]
pub struct Store {
    db: Db,
    /// The limits of users without their own.
    budgets: Budgets,
}

impl Store {
    /// The data behind `db`, with the limits of users without their own.
    pub fn new(db: Db, budgets: Budgets) -> Self {
        Self { db, budgets }
    }
}

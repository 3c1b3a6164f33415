//! What is remembered: Postgres, and the only room with SQL (DESIGN §4).
//!
//! Every verb on a job is short: read, `job::decide`, store by compare-and-set on the row's version,
//! effects, commit. Locks are taken in one order everywhere: user, job, conversation, its children,
//! deliveries, totals.

mod admit;
mod announce;
mod apps;
mod backlog;
mod batcher;
mod budgets;
mod chat;
mod checkpoints;
mod claim;
mod claim_delivery;
mod complete;
mod connect;
mod conversations;
mod deadline;
mod deliveries;
mod due;
mod edges;
mod effects;
mod endpoints;
mod error;
mod folders;
mod gauges;
mod goals;
mod health;
mod history;
mod items;
mod keyed;
mod keys;
mod known_people;
mod live;
mod location;
mod memories;
mod messages;
mod operator;
mod operators;
mod prune;
mod pushes;
mod quarantine;
mod read_job;
mod reading;
mod refusal;
mod release;
mod reminders;
mod renew;
mod repair;
mod repeats;
mod row;
mod run_input;
mod search;
mod secrets;
mod segments;
mod subscriptions;
mod tasks;
mod turns;
mod usage;
mod users;
mod waker;
mod wakes;
mod walk;

pub use admit::{
    AdmitRefusal, Admitted, CreateOutcome, EndedBy, FinalizedWithKeys, LiveAdmission, NewContent,
    NewConversation, ReprocessRefusal,
};
pub use apps::{
    App, AppFields, AppFilter, AppKey, AppKeyOwner, AppKeyRefusal, AppVisibility, InstallRefusal,
    InstalledApp, KeptManifest, NewApp, NewAppKey, OperatorApp, Stored, TooManyApps, Uninstalled,
};
pub use backlog::Backlog;
pub use budgets::{Budget, Budgets, LimitsChange, OverBudget, OwnLimits, UserBudget};
pub use chat::{AppMessage, ClaimedChatPush, MESSAGES_PER_HOUR, Notified, SentThisHour};
pub use checkpoints::CheckpointKey;
pub use claim::{ClaimRequest, Claimed, Holding, JobClaims};
pub use claim_delivery::DeliveryClaim;
pub use complete::{Announcement, Comparison, Completion, Finished, NewItem, NewMemory, Results, Same};
pub use connect::{Ledger, MIGRATOR, Migrated, Settings};
pub use conversations::{
    After, ConversationChange, ConversationFilter, ConversationView, DatePage, InProgress, StatusFilter,
};
pub use deliveries::{
    ClaimedDelivery, Claims, DeliveryOutcome, DeliveryPage, DeliveryPolicy, DeliveryTry, DeliveryView,
    SenderLoad, TRIES_KEPT,
};
pub use due::{Abandoned, Passed, Swept};
pub use edges::{Answer, Edge, RunEnd};
pub use endpoints::{Endpoint, EndpointChange, EndpointRefusal, EventKind, NewEndpoint, WebhookFormat};
pub use error::{Error, Trouble};
pub use folders::{DeletedFolder, FolderChange, FolderView, NewFolder};
pub use gauges::Gauges;
pub use goals::{GoalChange, GoalFilter, GoalPoint, GoalRefusal, NewGoal};
pub use health::{Health, TableHealth};
pub use history::Event;
pub use items::{ItemChange, ItemFilter, NewActionItem};
pub use keyed::{KeyedClaim, WithKeys};
pub use keys::{Key, KeyOwner, KeyRefusal, NewKey};
pub use known_people::KnownPerson;
pub use live::{
    Appended, AssignedSpeaker, LIVE_GRACE, LiveConversation, LiveLost, LiveView, NewLive, OpenRefusal,
    Opening, Photo, PhotoRefusal,
};
pub use memories::{MemoryChange, MemoryFilter, NewPersonMemory};
pub use messages::{BegunTurn, ChatMessage, FinishedTurn, NewTurn};
pub use operator::{JobView, OperatorAction};
pub use operators::{
    ActionFilter, ActionView, CHECKS, Cause, Causes, Check, DeadLetters, DeliveryFilter, DeliveryLine,
    Enabled, EndpointView, ErasureStep, Examination, Finding, GivenUp, HeldLease, JobCursor, JobFilter,
    JobPage, JobsPage, LastRound, MinuteView, OldTransaction, Overview, Pause, Process, ProcessView,
    RUN_MILLIS, Redelivered, ReplayChange, ReplayItem, ReplayOrder, ReplayPreview, ReplayTurn, ReplayView,
    RunCounts, Started, Stepped, Workers, delivery_subject,
};
pub use prune::Pruned;
pub use pushes::{ClaimedPush, PushPolicy};
pub use read_job::Poll;
pub use release::ClosedSessions;
pub use reminders::Notice;
pub use renew::Renewal;
pub use repeats::{Repeat, RequestKey};
pub use run_input::{Content, RecentItem, RunInput};
pub use search::{ConversationLine, Found, FoundKind, SearchQuery, TaskFilter};
pub use secrets::{BadSecretsKey, Resealed, SealedSecrets, Secrets};
pub use segments::AppendRefusal;
pub use subscriptions::{NewSubscription, Subscription, SubscriptionKind, TooManySubscriptions};
pub use tasks::{DueTask, HandOver, Unhanded};
pub use usage::Spent;
pub use users::{User, UserChange};
pub use waker::Waker;
pub use walk::{Place, Walked};

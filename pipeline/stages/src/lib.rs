//! The work itself, as typed stages: an illegal order does not compile, and what was paid for once is
//! never paid for again (DESIGN §6).
//!
//! [`finalize`] is the whole pipeline on one screen. [`Run::step`] is what makes it durable. This crate has
//! no SQL and no HTTP: a run keeps its checkpoints through the port [`CheckpointStore`], reports its progress
//! through [`Observer`], and understands text through the abilities in [`Engines`].

#![warn(clippy::indexing_slicing, clippy::string_slice)]
#![cfg_attr(test, allow(clippy::indexing_slicing, clippy::string_slice, reason = "a test may panic"))]

mod finalize;
mod run;
mod stage;

mod check;

mod abilities;
mod digest;
mod drafts;
mod failure;
mod fan_out;
mod health;
mod material;
mod ports;

pub use abilities::{
    CategorizeMemory, Describe, Embed, Engine, Engines, ExtractItems, ExtractMemories, Judge, RunApp,
};
pub use check::{is_title, shortened};
pub use drafts::{
    AppResult, Embedding, EventDraft, ItemDraft, Items, MemoryDraft, PhotoDescription, Structure, Survey,
    Verdict,
};
pub use failure::{Failure, MAX_RETRY_AFTER};
pub use fan_out::plan_fan_out;
pub use finalize::{Finalized, Kept, Stages, finalize};
pub use health::{ServerAnswer, ServerHealth};
pub use material::{Context, Material, Photo, PromptApp, RecentItem};
pub use ports::{CheckpointStore, Interrupted, Observer};
pub use run::Run;
pub use stage::{
    DescribePhotos, DescribeTalk, DetectDiscard, EmbedTalk, ExtractActionItems, FindMemories, Provenance,
    ReadContext, Stage, StageName, SurveyTalk, TriggerApps,
};

//! Scripted engines, a checkpoint store and an observer that remember what they were asked.

#![allow(
    dead_code,
    unused_imports,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "shared by test files, each of which uses a part"
)]

mod checkpoints;
mod engine;

use std::sync::Arc;

use records::{Folder, FolderId, Line, MemoryCategory, Talk, Timestamp};
use stages::*;

pub use checkpoints::{Diary, Memory};
pub use engine::Fake;

/// A moment, `hours` after the talk of these tests begins.
pub fn hours(hours: i64) -> Timestamp {
    chrono::DateTime::from_timestamp(1_800_000_000 + hours * 3_600, 0).unwrap()
}

pub fn talk(words: &str) -> Talk {
    Talk {
        lines: vec![Line { speaker: Some("User".to_owned()), is_user: true, text: words.to_owned() }],
        started_at: hours(0),
        time_zone: chrono_tz::Europe::Lisbon,
        language: "en".to_owned(),
        user_name: None,
        background: records::Background::default(),
    }
}

pub fn material(words: &str) -> Material {
    Material { talk: talk(words), context: context(), photos: Vec::new() }
}

pub fn context() -> Context {
    Context {
        folders: vec![Folder { id: FolderId::new("f1"), name: "Work".to_owned(), description: None }],
        recent_items: Vec::new(),
        memories: Vec::new(),
        apps: Vec::new(),
        prompt_apps: Vec::new(),
    }
}

pub fn item(description: &str, due_at: Option<Timestamp>) -> ItemDraft {
    ItemDraft { description: description.to_owned(), owner: None, due_at, evidence: None }
}

pub fn memory(content: &str) -> MemoryDraft {
    MemoryDraft { content: content.to_owned(), category: MemoryCategory::Other, evidence: None }
}

/// Ignores everything.
pub struct Unobserved;

impl Observer for Unobserved {}

/// Finalizes `material` with `fake` and keeps checkpoints in `memory`.
pub async fn finalize_with(
    fake: &Arc<Fake>,
    memory: &Memory,
    material: &Material,
    force_process: bool,
) -> Result<Finalized, Interrupted> {
    let run = Run::new(memory, &Unobserved, &material.talk);
    finalize(&run, &Stages::new(fake.engines()), material, force_process).await
}

/// What was kept.
pub fn kept(finalized: Result<Finalized, Interrupted>) -> Kept {
    match finalized {
        Ok(Finalized::Kept(kept)) => *kept,
        other => panic!("the conversation should have been kept: {other:?}"),
    }
}

//! `extract_memories`: what is worth remembering about the user, without what is already kept.

use std::sync::Arc;

use records::Talk;

use super::{Provenance, Stage, StageName};
use crate::{ExtractMemories, Failure, MemoryDraft, SameThing};

/// Shorter talk says nothing about anybody (DECISIONS §5).
const FROM_CHARACTERS: usize = 25;
/// At most this many a conversation.
const MOST: usize = 4;
/// The longest memory. A longer one is left out and not cut: half a fact can be a false one.
const WORDS: usize = 15;

/// Extracts memories and compares them with each other and with those that are kept.
pub struct FindMemories {
    engine: Arc<dyn ExtractMemories>,
    same: Arc<dyn SameThing>,
}

impl FindMemories {
    /// Asks `engine`, and `same` whether two memories state one fact.
    pub fn new(engine: Arc<dyn ExtractMemories>, same: Arc<dyn SameThing>) -> Self {
        Self { engine, same }
    }
}

impl Stage for FindMemories {
    const NAME: StageName = "extract_memories";
    type Input<'a> = (&'a Talk, &'a [String]);
    type Output = Vec<MemoryDraft>;

    fn provenance(&self) -> Provenance<'_> {
        Provenance::of(&*self.engine)
    }

    async fn run<'a>(&'a self, (talk, kept): Self::Input<'a>) -> Result<Vec<MemoryDraft>, Failure> {
        if talk.char_count() < FROM_CHARACTERS {
            return Ok(Vec::new());
        }
        let drafts = self.engine.extract_memories(talk).await?;
        Ok(settle(drafts, kept, &*self.same))
    }
}

fn settle(drafts: Vec<MemoryDraft>, kept: &[String], same: &dyn SameThing) -> Vec<MemoryDraft> {
    let mut new: Vec<MemoryDraft> = Vec::new();
    for draft in drafts {
        let content = draft.content.trim();
        let fits = (1..=WORDS).contains(&content.split_whitespace().count());
        let known = kept.iter().any(|old| same.same_fact(old, content))
            || new.iter().any(|twin| same.same_fact(&twin.content, content));
        if fits && !known && new.len() < MOST {
            new.push(MemoryDraft { content: content.to_owned(), category: draft.category });
        }
    }
    new
}

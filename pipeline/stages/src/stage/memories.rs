//! `extract_memories`: what is worth remembering about the user, without what is already kept.

use std::sync::Arc;

use records::{SameThing, Talk};

use super::{Provenance, Stage, StageName};
use crate::{ExtractMemories, Failure, MemoryDraft, check};

/// Shorter talk says nothing about anybody (DECISIONS §5).
const FROM_CHARACTERS: usize = 25;
/// At most this many a conversation.
const MOST: usize = 4;

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
    type Input<'a> = (&'a Talk, &'a [String], Option<Vec<MemoryDraft>>);
    type Output = Vec<MemoryDraft>;

    fn provenance(&self) -> Provenance<'_> {
        Provenance::of(&*self.engine)
    }

    /// `surveyed` is the survey's part.
    async fn run<'a>(&'a self, (talk, kept, surveyed): Self::Input<'a>) -> Result<Vec<MemoryDraft>, Failure> {
        if talk.char_count() < FROM_CHARACTERS {
            return Ok(Vec::new());
        }
        let drafts = match surveyed {
            Some(part) => part,
            None => self.engine.extract_memories(talk).await?,
        };
        let drafts = check::memories(drafts, talk);
        let compared = kept.iter().chain(drafts.iter().map(|draft| &draft.content)).cloned().collect();
        self.same.read(Vec::new(), compared).await;
        Ok(settle(drafts, kept, &*self.same))
    }
}

fn settle(drafts: Vec<MemoryDraft>, kept: &[String], same: &dyn SameThing) -> Vec<MemoryDraft> {
    let mut known = same.facts();
    kept.iter().for_each(|old| known.add(old));
    let mut new: Vec<MemoryDraft> = Vec::new();
    for draft in drafts {
        if new.len() < MOST && known.find(&draft.content).is_none() {
            known.add(&draft.content);
            new.push(draft);
        }
    }
    new
}

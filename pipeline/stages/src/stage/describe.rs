//! `describe`: title, overview, category, emoji, events, perhaps a folder.

use std::sync::Arc;

use job::FailureCode;
use records::{Folder, Talk};

use super::{Provenance, Stage, StageName};
use crate::{Describe, Failure, Structure, check};

/// Describes a talk.
pub struct DescribeTalk {
    engine: Arc<dyn Describe>,
}

impl DescribeTalk {
    /// Asks `engine`.
    pub fn new(engine: Arc<dyn Describe>) -> Self {
        Self { engine }
    }
}

impl Stage for DescribeTalk {
    const NAME: StageName = "describe";
    type Input<'a> = (&'a Talk, &'a [Folder], Option<Structure>);
    type Output = Structure;

    fn provenance(&self) -> Provenance<'_> {
        Provenance::of(&*self.engine)
    }

    /// `surveyed` is the survey's part.
    async fn run<'a>(&'a self, (talk, folders, surveyed): Self::Input<'a>) -> Result<Structure, Failure> {
        let draft = match surveyed.and_then(|part| check::structure(part, talk, folders)) {
            Some(checked) => return Ok(checked),
            None => self.engine.describe(talk, folders).await?,
        };
        match check::structure(draft.clone(), talk, folders) {
            Some(checked) => Ok(checked),
            // An engine that always answers the same would be asked again in vain.
            None if !self.engine.costs() => Ok(check::wordless(draft)),
            None => Err(FailureCode::ModelMalformed.into()),
        }
    }
}

//! `survey`: one paid reading of a talk that answers for several stages, where the engine can do that. Each of
//! those stages then takes its part, and asks for itself only when its part is missing.

use std::sync::Arc;

use records::{Folder, Talk};

use super::{Provenance, Stage, StageName};
use crate::{Describe, Engines, Failure, Survey, check};

/// Reads a talk once for the stages that describe it, extract items and extract memories.
pub struct SurveyTalk {
    engine: Arc<dyn Describe>,
}

impl SurveyTalk {
    /// The step before those stages; none where the engine has no such reading, or where another engine
    /// works on one of them: no engine's output passes for another's.
    pub fn before(engines: &Engines) -> Option<Self> {
        let id = engines.describe.id();
        let is_one = [engines.items.id(), engines.memories.id()].iter().all(|other| *other == id);
        (is_one && engines.describe.surveys()).then(|| Self { engine: Arc::clone(&engines.describe) })
    }
}

impl Stage for SurveyTalk {
    const NAME: StageName = "survey";
    type Input<'a> = (&'a Talk, &'a [Folder]);
    type Output = Survey;

    fn provenance(&self) -> Provenance<'_> {
        Provenance::of(&*self.engine)
    }

    async fn run<'a>(&'a self, (talk, folders): Self::Input<'a>) -> Result<Survey, Failure> {
        let survey = self.engine.survey(talk, folders).await?;
        Ok(check::survey(survey, talk, folders))
    }
}

//! `read_context`: what the stages read besides the words, fixed before the first paid call.

use super::{Provenance, Stage, StageName};
use crate::{Context, Engines, Failure, Material};

/// Keeps what the first run of a revision read. Worth a commit only where something later is paid for.
pub struct ReadContext {
    costs: bool,
}

impl ReadContext {
    /// The step before the stages that `engines` serve.
    pub fn before(engines: &Engines) -> Self {
        let costs = engines.judge.costs()
            || engines.describe.costs()
            || engines.items.costs()
            || engines.memories.costs()
            || engines.embed.costs()
            || engines.apps.costs();
        Self { costs }
    }
}

impl Stage for ReadContext {
    const NAME: StageName = "read_context";
    type Input<'a> = &'a Material;
    type Output = Context;

    fn provenance(&self) -> Provenance<'_> {
        Provenance { engine: "", costs: self.costs }
    }

    async fn run<'a>(&'a self, material: &'a Material) -> Result<Context, Failure> {
        Ok(material.context.clone())
    }
}

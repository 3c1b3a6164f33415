//! What a stage is, and the stages: a file each.

mod context;
mod describe;
mod discard;
mod embed;
mod items;
mod memories;
mod photos;
mod survey;
mod trigger_apps;

pub use context::ReadContext;
pub use describe::DescribeTalk;
pub use discard::DetectDiscard;
pub use embed::EmbedTalk;
pub use items::ExtractActionItems;
pub use memories::FindMemories;
pub use photos::DescribePhotos;
pub use survey::SurveyTalk;
pub use trigger_apps::TriggerApps;

use serde::{Serialize, de::DeserializeOwned};

use crate::{Engine, Failure};

/// A stage's name: in checkpoints, metric labels and spans.
pub type StageName = &'static str;

/// Where an output comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Provenance<'a> {
    /// The engine's id; empty where no engine is asked.
    pub engine: &'a str,
    /// Whether an output cost something, so that its checkpoint is worth a commit.
    pub costs: bool,
}

impl<'a> Provenance<'a> {
    fn of<E: Engine + ?Sized>(engine: &'a E) -> Self {
        Self { engine: engine.id(), costs: engine.costs() }
    }
}

/// A part of the work whose output can be kept.
pub trait Stage: Send + Sync {
    /// Under which the checkpoint is kept: part of the durable contract.
    const NAME: StageName;
    /// The shape of `Output`: raised when it changes.
    const VERSION: u16 = 1;
    /// What must have happened before, as data.
    type Input<'a>: Send
    where
        Self: 'a;
    /// What is kept.
    type Output: Serialize + DeserializeOwned + Send + Sync;

    /// Which engine works here, and whether it costs.
    fn provenance(&self) -> Provenance<'_>;

    /// Does the work.
    fn run<'a>(
        &'a self,
        input: Self::Input<'a>,
    ) -> impl Future<Output = Result<Self::Output, Failure>> + Send;
}

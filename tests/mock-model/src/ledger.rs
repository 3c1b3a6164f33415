//! What the server was asked, and what it counted.

use std::collections::BTreeMap;

use serde::Serialize;

/// One call.
#[derive(Clone, Debug, Serialize)]
pub struct Call {
    /// The stages that it answers for; one call may answer for several.
    pub stages: Vec<String>,
    /// `answered`, `refused` by a status, or what went wrong with it.
    pub outcome: String,
    /// How JSON was asked for: `json_schema`, `json_object`, `plain`; `embeddings`.
    pub format: String,
    /// The model that was named.
    pub model: String,
    /// Milliseconds from the server's start to the call's.
    pub began_ms: u128,
    /// Milliseconds from the server's start to the answer; the beginning where none was given yet.
    pub ended_ms: u128,
    /// Tokens that were read: four characters each, schema included.
    pub prompt_tokens: u64,
    /// Those of them that a prefix cache held.
    pub cached_tokens: u64,
    /// Tokens that were written.
    pub completion_tokens: u64,
    /// Everything that was sent, for tests that read it; not served over HTTP.
    #[serde(skip)]
    pub body: serde_json::Value,
    /// The key that came with it; not served over HTTP.
    #[serde(skip)]
    pub key: Option<String>,
}

impl Call {
    /// Whether a good answer was given: what a provider sends a bill for.
    pub fn was_answered(&self) -> bool {
        self.outcome == "answered"
    }
}

/// The sums of one stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Calls, however they ended.
    pub calls: u64,
    /// Good answers.
    pub answered: u64,
    /// Tokens read for good answers.
    pub prompt_tokens: u64,
    /// Those of them that a prefix cache held.
    pub cached_tokens: u64,
    /// Tokens written in good answers.
    pub completion_tokens: u64,
}

/// The sums by stage. A call that answers for several counts for each of them.
pub(crate) fn counts(calls: &[Call]) -> BTreeMap<String, Counts> {
    let mut counts = BTreeMap::<String, Counts>::new();
    for call in calls {
        for stage in &call.stages {
            let sums = counts.entry(stage.clone()).or_default();
            sums.calls += 1;
            if call.was_answered() {
                sums.answered += 1;
                sums.prompt_tokens += call.prompt_tokens;
                sums.cached_tokens += call.cached_tokens;
                sums.completion_tokens += call.completion_tokens;
            }
        }
    }
    counts
}

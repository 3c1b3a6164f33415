//! What a server says it counted. A bill is no part of the answer: one that makes no sense spoils none, and what is
//! no count is not counted.

use serde::Deserialize;
use serde_json::Value;

use super::OpenAi;

/// No call has more tokens: no model's context is as long.
const MOST_TOKENS: u64 = 100_000_000;

/// The `usage` of an answer.
#[derive(Default, Deserialize)]
#[serde(transparent)]
pub(super) struct Tokens(Value);

impl Tokens {
    fn prompt(&self) -> Option<u64> {
        count(self.0.get("prompt_tokens")?)
    }

    fn cached(&self) -> Option<u64> {
        count(self.0.get("prompt_tokens_details")?.get("cached_tokens")?)
    }

    fn completion(&self) -> Option<u64> {
        count(self.0.get("completion_tokens")?)
    }
}

fn count(value: &Value) -> Option<u64> {
    value.as_u64().filter(|count| (1..=MOST_TOKENS).contains(count))
}

impl OpenAi {
    /// Tells the meter what the server counted.
    pub(super) fn count(&self, stage: &'static str, tokens: &Tokens) {
        let counts =
            [("prompt", tokens.prompt()), ("cached", tokens.cached()), ("completion", tokens.completion())];
        if counts.iter().all(|(_, count)| count.is_none()) {
            return;
        }
        tracing::info!(
            stage,
            prompt_tokens = tokens.prompt(),
            cached_tokens = tokens.cached(),
            completion_tokens = tokens.completion(),
            "the model server answered"
        );
        for (kind, count) in counts {
            if let Some(count) = count {
                self.line.meter().tokens(stage, kind, count);
            }
        }
    }
}

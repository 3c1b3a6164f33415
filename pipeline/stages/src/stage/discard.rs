//! `detect_discard`: whether a conversation is worth keeping.

use std::sync::Arc;

use records::Talk;

use super::{Provenance, Stage, StageName};
use crate::{Failure, Judge, Verdict};

/// A longer talk is kept unasked (DECISIONS §5).
const KEPT_ABOVE_WORDS: usize = 100;

/// Decides by rule where a rule speaks, else asks the judge.
pub struct DetectDiscard {
    judge: Arc<dyn Judge>,
}

impl DetectDiscard {
    /// Asks `judge` about short talk.
    pub fn new(judge: Arc<dyn Judge>) -> Self {
        Self { judge }
    }
}

impl Stage for DetectDiscard {
    const NAME: StageName = "detect_discard";
    type Input<'a> = &'a Talk;
    type Output = Verdict;

    fn provenance(&self) -> Provenance<'_> {
        Provenance::of(&*self.judge)
    }

    /// Never fails: a judge that cannot answer must not cost a person the conversation.
    async fn run<'a>(&'a self, talk: &'a Talk) -> Result<Verdict, Failure> {
        Ok(match talk.word_count() {
            // A picture that was described is content, whatever was said.
            _ if !talk.background.pictures.is_empty() => Verdict::Keep,
            0 => Verdict::Discard,
            words if words > KEPT_ABOVE_WORDS => Verdict::Keep,
            _ => self.judge.judge(talk).await.unwrap_or_else(|failure| {
                tracing::warn!(code = failure.code.as_str(), "the judge failed; the conversation is kept");
                Verdict::Keep
            }),
        })
    }
}

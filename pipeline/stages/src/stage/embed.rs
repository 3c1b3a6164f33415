//! `embed`: one vector per conversation.

use std::sync::Arc;

use job::FailureCode;
use records::Talk;

use super::{Provenance, Stage, StageName};
use crate::{Embed, Embedding, Failure};

/// Vectors are of some hundred to some thousand numbers; a longer one is no vector of a text.
const LONGEST: usize = 16_384;

/// Turns the words of a talk, and what its pictures show, into a vector.
pub struct EmbedTalk {
    engine: Arc<dyn Embed>,
}

impl EmbedTalk {
    /// Asks `engine`.
    pub fn new(engine: Arc<dyn Embed>) -> Self {
        Self { engine }
    }
}

impl Stage for EmbedTalk {
    const NAME: StageName = "embed";
    type Input<'a> = &'a Talk;
    type Output = Embedding;

    fn provenance(&self) -> Provenance<'_> {
        Provenance { engine: self.engine.embed_id(), costs: self.engine.costs() }
    }

    async fn run<'a>(&'a self, talk: &'a Talk) -> Result<Embedding, Failure> {
        let words = talk.lines.iter().map(|line| line.text.trim());
        let pictures = talk.background.pictures.iter().map(String::as_str);
        let text: Vec<&str> = words.chain(pictures).collect();
        let embedding = self.engine.embed(&text.join("\n")).await?;
        let vector = &embedding.vector;
        // A vector without a direction can be compared with nothing.
        let is_sound = vector.len() <= LONGEST
            && vector.iter().all(|number| number.is_finite())
            && vector.iter().any(|number| *number != 0.0);
        if is_sound { Ok(embedding) } else { Err(FailureCode::ModelMalformed.into()) }
    }
}

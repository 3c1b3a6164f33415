//! The ability traits, each one question.

use futures::future::BoxFuture;
use job::FailureCode;
use records::{Folder, Talk};
use serde::Deserialize;
use serde_json::{Value, json};
use stages::{
    AppResult, Describe, Embed, Embedding, Engine, ExtractItems, ExtractMemories, Failure, ItemDraft, Judge,
    MemoryDraft, RunApp, Structure, Verdict,
};

use super::answers::{Description, Judgement, MemoryList, Tasks, Text};
use super::chat::{Question, Tokens};
use super::{OpenAi, prompt};

/// Embedding models read about 8,000 tokens; a token of any script is seldom less than three bytes.
const MAX_EMBEDDED_BYTES: usize = 20_000;

impl OpenAi {
    fn question(&self, stage: &'static str, talk: &Talk, data: Option<&Value>, question: &str) -> Question {
        Question { stage, text: self.marks.user_text(talk, data, question) }
    }
}

impl Engine for OpenAi {
    fn id(&self) -> &str {
        &self.id
    }

    fn costs(&self) -> bool {
        true
    }
}

impl Judge for OpenAi {
    fn judge<'a>(&'a self, talk: &'a Talk) -> BoxFuture<'a, Result<Verdict, Failure>> {
        Box::pin(async move {
            let question = self.question("detect_discard", talk, None, prompt::JUDGE);
            Ok(self.ask::<Judgement>(question).await?.verdict())
        })
    }
}

impl Describe for OpenAi {
    fn describe<'a>(
        &'a self,
        talk: &'a Talk,
        folders: &'a [Folder],
    ) -> BoxFuture<'a, Result<Structure, Failure>> {
        Box::pin(async move {
            let data = prompt::folder_data(folders);
            let question = self.question("describe", talk, Some(&data), prompt::DESCRIBE);
            let description: Description = self.ask(question).await?;
            Ok(description.structure(talk, folders).ok_or(FailureCode::ModelMalformed)?)
        })
    }
}

impl ExtractItems for OpenAi {
    fn extract_items<'a>(&'a self, talk: &'a Talk) -> BoxFuture<'a, Result<Vec<ItemDraft>, Failure>> {
        Box::pin(async move {
            let question = self.question("extract_action_items", talk, None, prompt::ITEMS);
            Ok(self.ask::<Tasks>(question).await?.drafts(talk))
        })
    }
}

impl ExtractMemories for OpenAi {
    fn extract_memories<'a>(&'a self, talk: &'a Talk) -> BoxFuture<'a, Result<Vec<MemoryDraft>, Failure>> {
        Box::pin(async move {
            let question = self.question("extract_memories", talk, None, prompt::MEMORIES);
            Ok(self.ask::<MemoryList>(question).await?.drafts())
        })
    }
}

impl RunApp for OpenAi {
    fn run_app<'a>(
        &'a self,
        app_id: &'a str,
        talk: &'a Talk,
        structure: &'a Structure,
    ) -> BoxFuture<'a, Result<AppResult, Failure>> {
        Box::pin(async move {
            let instruction = prompt::app(app_id).ok_or(FailureCode::AppFailed)?;
            let data = prompt::structure_data(structure);
            let question = self.question("trigger_apps", talk, Some(&data), instruction);
            let text: Text = self.ask(question).await?;
            Ok(AppResult { app_id: app_id.to_owned(), content: text.cleaned() })
        })
    }
}

#[derive(Deserialize)]
struct Embeddings {
    data: Vec<Vector>,
    usage: Option<Tokens>,
}

#[derive(Deserialize)]
struct Vector {
    embedding: Vec<f32>,
}

impl Embed for OpenAi {
    fn embed<'a>(&'a self, text: &'a str) -> BoxFuture<'a, Result<Embedding, Failure>> {
        Box::pin(async move {
            let input = &text[..text.floor_char_boundary(MAX_EMBEDDED_BYTES)];
            let request = json!({"model": &*self.embed_model, "input": [input], "encoding_format": "float"});
            let body = self.line.post("embed", "embeddings", &request).await.map_err(Failure::from)?;
            let answer: Embeddings =
                serde_json::from_slice(&body).map_err(|_| FailureCode::ModelMalformed)?;
            self.count("embed", answer.usage.as_ref());
            let vector = answer.data.into_iter().next().map(|first| first.embedding).unwrap_or_default();
            if vector.is_empty() || !vector.iter().all(|number| number.is_finite()) {
                return Err(FailureCode::ModelMalformed.into());
            }
            Ok(Embedding { model: self.embed_model.to_string(), vector })
        })
    }
}

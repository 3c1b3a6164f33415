//! The ability traits, each one question.

use futures::future::BoxFuture;
use job::FailureCode;
use records::{Folder, Talk};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use stages::{
    AppResult, Describe, Embed, Embedding, Engine, ExtractItems, ExtractMemories, Failure, ItemDraft, Judge,
    MemoryDraft, RunApp, ServerHealth, Structure, Survey, Verdict,
};

use super::answers::{self, Description, Judgement, MemoryList, Reading, Tasks, Text};
use super::bill::Tokens;
use super::chat::{Question, malformed};
use super::{OpenAi, prompt, window};

/// What a survey answers for, as the name of its schema.
const SURVEYED: &str = "describe-extract_action_items-extract_memories";
/// Embedding models read about 8,000 tokens; a token of any script is seldom less than three bytes.
const MAX_EMBEDDED_BYTES: usize = 20_000;

impl Engine for OpenAi {
    fn id(&self) -> &str {
        &self.id
    }

    fn costs(&self) -> bool {
        true
    }

    fn ask_again(&self) {
        self.line.ask_again();
        self.sight_line.ask_again();
    }

    fn server(&self) -> Option<ServerHealth> {
        Some(self.line.health())
    }

    fn check_server(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.line.check())
    }
}

impl Judge for OpenAi {
    /// Long talk is kept unasked, so that a judged talk has one part; of several, one to keep is enough.
    fn judge<'a>(&'a self, talk: &'a Talk) -> BoxFuture<'a, Result<Verdict, Failure>> {
        Box::pin(async move {
            let question = Question::of::<Judgement>("detect_discard", None, prompt::JUDGE);
            let parts: Vec<Judgement> = self.ask(talk, &question).await?;
            let keeps = parts.iter().any(|part| part.verdict() == Verdict::Keep);
            Ok(if keeps { Verdict::Keep } else { Verdict::Discard })
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
            let question = Question::of::<Description>("describe", Some(&data), prompt::DESCRIBE);
            let parts: Vec<Description> = self.ask(talk, &question).await?;
            let parts = parts.into_iter().map(|part| part.structure(talk, folders)).collect();
            self.merge("describe", talk, parts, folders).await
        })
    }

    fn surveys(&self) -> bool {
        true
    }

    fn survey<'a>(&'a self, talk: &'a Talk, folders: &'a [Folder]) -> BoxFuture<'a, Result<Survey, Failure>> {
        Box::pin(async move {
            let (data, text) = (prompt::folder_data(folders), prompt::survey());
            let question =
                Question { name: SURVEYED, ..Question::of::<Reading>("survey", Some(&data), &text) };
            let parts: Vec<Map<String, Value>> = self.ask(talk, &question).await?;
            let parts = parts.into_iter().map(|part| answers::survey(part, talk, folders)).collect();
            self.join(talk, parts, folders).await
        })
    }

    fn sees(&self) -> bool {
        self.sight.is_some()
    }

    fn sight_id(&self) -> &str {
        self.sight.as_ref().map_or(&*self.id, |(_, id)| id)
    }

    fn describe_photo<'a>(
        &'a self,
        base64: &'a str,
        language: &'a str,
    ) -> BoxFuture<'a, Result<String, Failure>> {
        Box::pin(self.see(base64, language))
    }
}

impl ExtractItems for OpenAi {
    fn extract_items<'a>(&'a self, talk: &'a Talk) -> BoxFuture<'a, Result<Vec<ItemDraft>, Failure>> {
        Box::pin(async move {
            let question = Question::of::<Tasks>("extract_action_items", None, prompt::ITEMS);
            let parts: Vec<Tasks> = self.ask(talk, &question).await?;
            Ok(parts.into_iter().flat_map(|part| part.drafts(talk)).collect())
        })
    }
}

impl ExtractMemories for OpenAi {
    fn extract_memories<'a>(&'a self, talk: &'a Talk) -> BoxFuture<'a, Result<Vec<MemoryDraft>, Failure>> {
        Box::pin(async move {
            let question = Question::of::<MemoryList>("extract_memories", None, prompt::MEMORIES);
            let parts: Vec<MemoryList> = self.ask(talk, &question).await?;
            Ok(parts.into_iter().flat_map(MemoryList::drafts).collect())
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
            let question = Question::of::<Text>("trigger_apps", Some(&data), instruction);
            let parts: Vec<Text> = self.ask(talk, &question).await?;
            let content = self.merge_texts(talk, parts, instruction).await?;
            Ok(AppResult { app_id: app_id.to_owned(), content })
        })
    }

    fn follows_prompts(&self) -> bool {
        self.follows_prompts
    }

    fn run_prompt<'a>(
        &'a self,
        app_id: &'a str,
        prompt: &'a str,
        talk: &'a Talk,
        structure: &'a Structure,
    ) -> BoxFuture<'a, Result<AppResult, Failure>> {
        Box::pin(async move {
            let instruction = prompt::of_prompt_app(prompt);
            let data = prompt::structure_data(structure);
            let question = Question::of::<Text>("trigger_apps", Some(&data), &instruction);
            let parts: Vec<Text> = self.ask(talk, &question).await?;
            let content = self.merge_texts(talk, parts, &instruction).await?;
            Ok(AppResult { app_id: app_id.to_owned(), content })
        })
    }
}

#[derive(Deserialize)]
struct Embeddings {
    data: Vec<Vector>,
    #[serde(default)]
    usage: Tokens,
}

#[derive(Deserialize)]
struct Vector {
    embedding: Vec<f32>,
}

impl Embed for OpenAi {
    fn embed_id(&self) -> &str {
        &self.embed_id
    }

    fn embed<'a>(&'a self, text: &'a str) -> BoxFuture<'a, Result<Embedding, Failure>> {
        Box::pin(async move {
            let input = window::beginning(text, MAX_EMBEDDED_BYTES);
            let request = json!({"model": &*self.embed_model, "input": [input], "encoding_format": "float"});
            let body = self.line.post("embed", "embeddings", &request).await.map_err(Failure::from)?;
            let answer: Embeddings = serde_json::from_slice(&body).map_err(|_| malformed())?;
            self.count("embed", &answer.usage);
            let first = answer.data.into_iter().next().ok_or_else(malformed)?;
            Ok(Embedding { model: self.embed_id.to_string(), vector: first.embedding })
        })
    }
}

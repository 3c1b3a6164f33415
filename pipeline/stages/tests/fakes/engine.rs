//! An engine for every ability, and a comparison of words.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex},
    time::Duration,
};

use futures::future::BoxFuture;
use job::FailureCode;
use records::{Category, Folder, Talk};
use stages::*;

/// One engine for every ability. `failures` are used up one a call; `delay` is how long every call takes.
pub struct Fake {
    pub costs: bool,
    pub id: String,
    pub verdict: Verdict,
    pub structure: Structure,
    pub survey: Option<Survey>,
    pub items: Vec<ItemDraft>,
    pub memories: Vec<MemoryDraft>,
    pub app_content: String,
    pub follows_prompts: bool,
    pub vector: Option<Vec<f32>>,
    pub delays: HashMap<&'static str, Duration>,
    pub failures: Mutex<HashMap<&'static str, Vec<Failure>>>,
    pub calls: Mutex<Vec<&'static str>>,
    /// The pictures of the talk that was described last.
    pub read: Mutex<Vec<String>>,
}

impl Default for Fake {
    fn default() -> Self {
        Self {
            costs: true,
            id: "fake/1".to_owned(),
            verdict: Verdict::Keep,
            structure: Structure {
                title: "Plans".to_owned(),
                overview: "Plans were made.".to_owned(),
                category: Category::Work,
                emoji: "🧠".to_owned(),
                events: Vec::new(),
                folder_id: None,
            },
            survey: None,
            items: Vec::new(),
            memories: Vec::new(),
            app_content: "text".to_owned(),
            follows_prompts: true,
            vector: None,
            delays: HashMap::new(),
            failures: Mutex::default(),
            calls: Mutex::default(),
            read: Mutex::default(),
        }
    }
}

impl Fake {
    pub fn fails(self, ability: &'static str, codes: &[FailureCode]) -> Self {
        let failures: Vec<Failure> = codes.iter().map(|code| Failure::from(*code)).collect();
        self.fails_with(ability, &failures)
    }

    pub fn fails_with(self, ability: &'static str, failures: &[Failure]) -> Self {
        self.failures.lock().unwrap().insert(ability, failures.to_vec());
        self
    }

    pub fn called(&self, ability: &str) -> usize {
        self.calls.lock().unwrap().iter().filter(|name| **name == ability).count()
    }

    async fn answer<T>(&self, ability: &'static str, answer: T) -> Result<T, Failure> {
        self.calls.lock().unwrap().push(ability);
        if let Some(delay) = self.delays.get(ability) {
            tokio::time::sleep(*delay).await;
        }
        match self.failures.lock().unwrap().get_mut(ability).filter(|codes| !codes.is_empty()) {
            Some(codes) => Err(codes.remove(0)),
            None => Ok(answer),
        }
    }

    pub fn engines(self: &Arc<Self>) -> Engines {
        Engines {
            judge: self.clone(),
            describe: self.clone(),
            items: self.clone(),
            memories: self.clone(),
            embed: self.clone(),
            apps: self.clone(),
            same: Arc::new(same_words),
        }
    }
}

impl Engine for Fake {
    fn id(&self) -> &str {
        &self.id
    }
    fn costs(&self) -> bool {
        self.costs
    }
}

impl Judge for Fake {
    fn judge<'a>(&'a self, _: &'a Talk) -> BoxFuture<'a, Result<Verdict, Failure>> {
        Box::pin(self.answer("judge", self.verdict))
    }
}

impl Describe for Fake {
    fn describe<'a>(&'a self, talk: &'a Talk, _: &'a [Folder]) -> BoxFuture<'a, Result<Structure, Failure>> {
        self.read.lock().unwrap().clone_from(&talk.background.pictures);
        Box::pin(self.answer("describe", self.structure.clone()))
    }

    fn surveys(&self) -> bool {
        self.survey.is_some()
    }

    fn survey<'a>(&'a self, _: &'a Talk, _: &'a [Folder]) -> BoxFuture<'a, Result<Survey, Failure>> {
        Box::pin(self.answer("survey", self.survey.clone().unwrap_or_default()))
    }

    fn sees(&self) -> bool {
        true
    }

    /// Says the picture again.
    fn describe_photo<'a>(
        &'a self,
        base64: &'a str,
        language: &'a str,
    ) -> BoxFuture<'a, Result<String, Failure>> {
        Box::pin(self.answer("photo", format!(" {base64} in {language} ")))
    }
}

impl ExtractItems for Fake {
    fn extract_items<'a>(&'a self, _: &'a Talk) -> BoxFuture<'a, Result<Vec<ItemDraft>, Failure>> {
        Box::pin(self.answer("items", self.items.clone()))
    }

    /// Every language but one.
    fn reads(&self, talk: &Talk) -> bool {
        talk.language != "de"
    }
}

impl ExtractMemories for Fake {
    fn extract_memories<'a>(&'a self, _: &'a Talk) -> BoxFuture<'a, Result<Vec<MemoryDraft>, Failure>> {
        Box::pin(self.answer("memories", self.memories.clone()))
    }
}

impl Embed for Fake {
    fn embed<'a>(&'a self, text: &'a str) -> BoxFuture<'a, Result<Embedding, Failure>> {
        let vector = self.vector.clone().unwrap_or_else(|| vec![text.len() as f32]);
        Box::pin(self.answer("embed", Embedding { model: "length".to_owned(), vector }))
    }
}

impl RunApp for Fake {
    fn run_app<'a>(
        &'a self,
        app_id: &'a str,
        _: &'a Talk,
        _: &'a Structure,
    ) -> BoxFuture<'a, Result<AppResult, Failure>> {
        let ability = ["minutes", "decisions", "questions"]
            .into_iter()
            .find(|app| *app == app_id)
            .expect("a built-in app");
        let content = self.app_content.clone();
        Box::pin(self.answer(ability, AppResult { app_id: app_id.to_owned(), content }))
    }

    fn follows_prompts(&self) -> bool {
        self.follows_prompts
    }

    /// Says the prompt again.
    fn run_prompt<'a>(
        &'a self,
        app_id: &'a str,
        prompt: &'a str,
        _: &'a Talk,
        _: &'a Structure,
    ) -> BoxFuture<'a, Result<AppResult, Failure>> {
        let content = format!("about {prompt}");
        Box::pin(self.answer("prompt", AppResult { app_id: app_id.to_owned(), content }))
    }
}

/// Two things are the same when they share their words, whatever their order and case.
fn same_words(one: &str, other: &str) -> bool {
    let words =
        |text: &str| text.to_lowercase().split_whitespace().map(str::to_owned).collect::<HashSet<_>>();
    words(one) == words(other)
}

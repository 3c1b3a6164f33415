//! The abilities that stages ask for, one trait each. Engines implement them; a stage never knows
//! which engine it talks to.

use std::sync::Arc;

use futures::future::{BoxFuture, ready};
use job::FailureCode;
use records::{Folder, MemoryCategory, SameThing, Talk};

use crate::Failure;
use crate::ServerHealth;
use crate::drafts::{AppResult, Embedding, ItemDraft, MemoryDraft, Structure, Survey, Verdict};

/// What every engine says of itself.
pub trait Engine: Send + Sync {
    /// Engine, model and prompt version, for example `embedded/23` or `openai:gpt-x@host/p1`: part of a
    /// checkpoint's key, stored with the result, so that no engine's output passes for another's.
    fn id(&self) -> &str;

    /// Whether an output cost something: only then is a checkpoint worth a commit (DESIGN §6).
    fn costs(&self) -> bool;

    /// An operator ended the wait of a job: a server that is left alone for a while is asked again.
    fn ask_again(&self) {}

    /// What is known of the engine's server; `None`: it has none.
    fn server(&self) -> Option<ServerHealth> {
        None
    }

    /// Asks the server whether it is there and takes the key, at no cost.
    fn check_server(&self) -> BoxFuture<'_, ()> {
        Box::pin(ready(()))
    }
}

/// Judges whether a talk is worth keeping. Unsure means `Keep`.
pub trait Judge: Engine {
    /// The verdict on `talk`.
    fn judge<'a>(&'a self, talk: &'a Talk) -> BoxFuture<'a, Result<Verdict, Failure>>;
}

/// Gives a talk its title, overview, category, emoji, events and perhaps a folder.
pub trait Describe: Engine {
    /// The structure of `talk`; `folders` are the person's, any of which may be picked by its description.
    fn describe<'a>(
        &'a self,
        talk: &'a Talk,
        folders: &'a [Folder],
    ) -> BoxFuture<'a, Result<Structure, Failure>>;

    /// Whether [`survey`](Self::survey) reads a talk once for describing it, its items and its memories:
    /// for an engine that is paid by what it reads.
    fn surveys(&self) -> bool {
        false
    }

    /// One reading for those three.
    fn survey<'a>(&'a self, talk: &'a Talk, folders: &'a [Folder]) -> BoxFuture<'a, Result<Survey, Failure>> {
        let _ = (talk, folders);
        Box::pin(ready(Ok(Survey::default())))
    }

    /// Whether [`describe_photo`](Self::describe_photo) says what is on a picture.
    fn sees(&self) -> bool {
        false
    }

    /// The id under which descriptions of pictures are kept: an engine may see with another model than it reads with.
    fn sight_id(&self) -> &str {
        self.id()
    }

    /// What is on a picture, a JPEG or PNG in base64, in the language of this tag.
    fn describe_photo<'a>(
        &'a self,
        base64: &'a str,
        language: &'a str,
    ) -> BoxFuture<'a, Result<String, Failure>> {
        let _ = (base64, language);
        Box::pin(ready(Err(FailureCode::ModelRejected.into())))
    }
}

/// Finds what is to be done.
pub trait ExtractItems: Engine {
    /// The action items of `talk`, with due dates resolved.
    fn extract_items<'a>(&'a self, talk: &'a Talk) -> BoxFuture<'a, Result<Vec<ItemDraft>, Failure>>;

    /// Whether the engine can find items in the language of `talk`. Where it cannot, an empty list is no
    /// answer, and the result is stored as one that was not read for items.
    fn reads(&self, talk: &Talk) -> bool {
        let _ = talk;
        true
    }
}

/// Finds what is worth remembering about the user.
pub trait ExtractMemories: Engine {
    /// At most four memories of `talk`.
    fn extract_memories<'a>(&'a self, talk: &'a Talk) -> BoxFuture<'a, Result<Vec<MemoryDraft>, Failure>>;
}

/// Turns text into a vector.
pub trait Embed: Engine {
    /// The id under which vectors are kept, where it is not the engine's: an engine may embed with another
    /// model than it reads with.
    fn embed_id(&self) -> &str {
        self.id()
    }

    /// The vector of `text`.
    fn embed<'a>(&'a self, text: &'a str) -> BoxFuture<'a, Result<Embedding, Failure>>;
}

/// Runs summarization apps: built-in ones (`minutes`, `decisions`, `questions`), and prompts of other people's making.
pub trait RunApp: Engine {
    /// The app's text about `talk`; an unknown app is `app_failed`.
    fn run_app<'a>(
        &'a self,
        app_id: &'a str,
        talk: &'a Talk,
        structure: &'a Structure,
    ) -> BoxFuture<'a, Result<AppResult, Failure>>;

    /// Whether the engine can do what a prompt asks for: rules and word lists cannot.
    fn follows_prompts(&self) -> bool {
        false
    }

    /// What the prompt app `app_id` asks for, of `talk`.
    fn run_prompt<'a>(
        &'a self,
        app_id: &'a str,
        prompt: &'a str,
        talk: &'a Talk,
        structure: &'a Structure,
    ) -> BoxFuture<'a, Result<AppResult, Failure>> {
        let _ = (app_id, prompt, talk, structure);
        Box::pin(ready(Err(FailureCode::AppFailed.into())))
    }
}

/// Finds what a memory is about that came without a category. Deterministic and free, because a client waits for it.
pub trait CategorizeMemory: Send + Sync {
    /// One of the ten; what fits nowhere is `other`.
    fn category_of(&self, content: &str) -> MemoryCategory;
}

/// One engine per ability; the same engine may serve several.
#[derive(Clone)]
pub struct Engines {
    /// Judges.
    pub judge: Arc<dyn Judge>,
    /// Describes.
    pub describe: Arc<dyn Describe>,
    /// Finds action items.
    pub items: Arc<dyn ExtractItems>,
    /// Finds memories.
    pub memories: Arc<dyn ExtractMemories>,
    /// Embeds.
    pub embed: Arc<dyn Embed>,
    /// Runs apps.
    pub apps: Arc<dyn RunApp>,
    /// Compares.
    pub same: Arc<dyn SameThing>,
}

impl Engines {
    /// Each engine asks its server again, also where that is left alone.
    pub fn ask_again(&self) {
        self.judge.ask_again();
        self.describe.ask_again();
        self.items.ask_again();
        self.memories.ask_again();
        self.embed.ask_again();
        self.apps.ask_again();
    }
}

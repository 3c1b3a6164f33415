//! The embedded engine: rules, no model, no network, no key. The same talk always gives the same
//! answer, and its id says that it was no language model that spoke.

mod apps;
mod clauses;
mod dates;
mod events;
mod hashing;
mod items;
mod judge;
mod lexicon;
mod memories;
mod overview;
mod phrases;
mod same;
mod text;
mod title;

use futures::FutureExt;
use futures::future::{BoxFuture, ready};
use job::FailureCode;
use records::{Category, Folder, MemoryCategory, Talk};
use stages::{
    AppResult, CategorizeMemory, Describe, Embed, Embedding, Engine, ExtractItems, ExtractMemories,
    ItemDraft, Judge, MemoryDraft, RunApp, SameThing, Structure, Verdict,
};
use tokio::runtime::Handle;

/// Talk longer than this many bytes is worked on by a blocking thread, so that heartbeats live.
const LONG: usize = 20_000;

/// How many key phrases lead an overview.
const TOPICS: usize = 4;

/// The deterministic engine that is always there. English is understood by rules; of other languages
/// it gives a title of key words and an extractive overview, and no items.
#[derive(Clone, Copy, Debug, Default)]
pub struct Embedded;

impl Embedded {
    /// The engine. It has no state.
    pub fn new() -> Self {
        Self
    }
}

impl Engine for Embedded {
    fn id(&self) -> &str {
        "embedded/1"
    }

    fn costs(&self) -> bool {
        false
    }
}

impl Judge for Embedded {
    fn judge<'a>(&'a self, talk: &'a Talk) -> BoxFuture<'a, Result<Verdict, FailureCode>> {
        on(talk, |talk| Ok(judge::judge(talk)))
    }
}

impl Describe for Embedded {
    fn describe<'a>(
        &'a self,
        talk: &'a Talk,
        folders: &'a [Folder],
    ) -> BoxFuture<'a, Result<Structure, FailureCode>> {
        let folders = folders.to_vec();
        on(talk, move |talk| Ok(describe(talk, &folders)))
    }
}

impl ExtractItems for Embedded {
    fn extract_items<'a>(&'a self, talk: &'a Talk) -> BoxFuture<'a, Result<Vec<ItemDraft>, FailureCode>> {
        on(talk, |talk| Ok(if is_english(talk) { items::extract(talk) } else { Vec::new() }))
    }
}

impl ExtractMemories for Embedded {
    fn extract_memories<'a>(
        &'a self,
        talk: &'a Talk,
    ) -> BoxFuture<'a, Result<Vec<MemoryDraft>, FailureCode>> {
        on(talk, |talk| Ok(if is_english(talk) { memories::extract(talk) } else { Vec::new() }))
    }
}

impl Embed for Embedded {
    fn embed<'a>(&'a self, text: &'a str) -> BoxFuture<'a, Result<Embedding, FailureCode>> {
        let owned = text.to_owned();
        away(text.len(), move || Ok(hashing::embedding(&owned)))
    }
}

impl RunApp for Embedded {
    fn run_app<'a>(
        &'a self,
        app_id: &'a str,
        talk: &'a Talk,
        structure: &'a Structure,
    ) -> BoxFuture<'a, Result<AppResult, FailureCode>> {
        let (app_id, structure) = (app_id.to_owned(), structure.clone());
        on(talk, move |talk| apps::run(&app_id, talk, &structure))
    }
}

impl CategorizeMemory for Embedded {
    fn category_of(&self, content: &str) -> MemoryCategory {
        memories::category_of(content)
    }
}

impl SameThing for Embedded {
    fn same_task(&self, one: &str, other: &str) -> bool {
        same::same_task(one, other)
    }

    fn same_fact(&self, one: &str, other: &str) -> bool {
        same::same_fact(one, other)
    }
}

/// Runs `work` on `talk`: at once when it is short, else on a copy and a blocking thread.
fn on<'a, T: Send + 'static>(
    talk: &'a Talk,
    work: impl FnOnce(&Talk) -> Result<T, FailureCode> + Send + 'static,
) -> BoxFuture<'a, Result<T, FailureCode>> {
    let length = talk.lines.iter().map(|line| line.text.len()).sum();
    if length <= LONG {
        return ready(work(talk)).boxed();
    }
    let talk = talk.clone();
    away(length, move || work(&talk))
}

/// Runs `work` at once when `length` is short, or when there is no runtime to hand it to.
fn away<'a, T: Send + 'static>(
    length: usize,
    work: impl FnOnce() -> Result<T, FailureCode> + Send + 'static,
) -> BoxFuture<'a, Result<T, FailureCode>> {
    match Handle::try_current() {
        Ok(runtime) if length > LONG => {
            let task = runtime.spawn_blocking(work);
            async move { task.await.unwrap_or(Err(FailureCode::Internal)) }.boxed()
        }
        _ => ready(work()).boxed(),
    }
}

/// Whether the rules apply; a talk without a language is taken as English.
fn is_english(talk: &Talk) -> bool {
    let language = talk.language.to_ascii_lowercase();
    language.is_empty() || language == "en" || language.starts_with("en-") || language.starts_with("en_")
}

fn describe(talk: &Talk, folders: &[Folder]) -> Structure {
    let sentences = text::sentences(talk);
    let frequency = phrases::frequencies(&sentences);
    let english = is_english(talk);
    let category = if english { title::category(&frequency) } else { Category::Other };
    let topics = phrases::key_phrases(&sentences, &title::weights(&frequency, category), TOPICS);
    Structure {
        title: title::title(&topics, &sentences),
        overview: overview::overview(&sentences, if english { &topics } else { &[] }),
        category,
        emoji: lexicon::emoji_of(category).to_owned(),
        events: if english { events::extract(talk) } else { Vec::new() },
        folder_id: title::folder(folders, category, &frequency),
    }
}

#[cfg(test)]
mod tests;

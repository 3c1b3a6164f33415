//! An engine that costs nothing and finds nothing: what is measured is the ledger.

use std::sync::Arc;

use futures::{FutureExt, future::BoxFuture};
use records::{Category, Folder, Talk};
use stages::{
    AppResult, Describe, Embed, Embedding, Engine, Engines, ExtractItems, ExtractMemories, Failure,
    ItemDraft, Judge, MemoryDraft, RunApp, Structure, Verdict,
};

#[derive(Clone, Copy)]
struct Idle;

/// The same idle engine for every ability.
pub(crate) fn engines() -> Engines {
    let idle = Arc::new(Idle);
    Engines {
        judge: idle.clone(),
        describe: idle.clone(),
        items: idle.clone(),
        memories: idle.clone(),
        embed: idle.clone(),
        apps: idle,
        same: Arc::new(|_: &str, _: &str| false),
    }
}

fn now<T: Send + 'static>(value: T) -> BoxFuture<'static, Result<T, Failure>> {
    async move { Ok(value) }.boxed()
}

impl Engine for Idle {
    fn id(&self) -> &str {
        "idle/1"
    }

    fn costs(&self) -> bool {
        false
    }
}

impl Judge for Idle {
    fn judge<'a>(&'a self, _: &'a Talk) -> BoxFuture<'a, Result<Verdict, Failure>> {
        now(Verdict::Keep)
    }
}

impl Describe for Idle {
    fn describe<'a>(&'a self, _: &'a Talk, _: &'a [Folder]) -> BoxFuture<'a, Result<Structure, Failure>> {
        now(Structure {
            title: "Nothing".to_owned(),
            overview: String::new(),
            category: Category::Other,
            emoji: "🧠".to_owned(),
            events: Vec::new(),
            folder_id: None,
        })
    }
}

impl ExtractItems for Idle {
    fn extract_items<'a>(&'a self, _: &'a Talk) -> BoxFuture<'a, Result<Vec<ItemDraft>, Failure>> {
        now(Vec::new())
    }
}

impl ExtractMemories for Idle {
    fn extract_memories<'a>(&'a self, _: &'a Talk) -> BoxFuture<'a, Result<Vec<MemoryDraft>, Failure>> {
        now(Vec::new())
    }
}

impl Embed for Idle {
    fn embed<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Embedding, Failure>> {
        now(Embedding { model: "idle".to_owned(), vector: vec![1.0] })
    }
}

impl RunApp for Idle {
    fn run_app<'a>(
        &'a self,
        app_id: &'a str,
        _: &'a Talk,
        _: &'a Structure,
    ) -> BoxFuture<'a, Result<AppResult, Failure>> {
        now(AppResult { app_id: app_id.to_owned(), content: String::new() })
    }
}

//! Scripted engines: descriptions can be held, fail or panic.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use futures::future::{BoxFuture, ready};
use job::FailureCode;
use prometheus::Registry;
use records::{Category, Folder, MemoryCategory, Talk};
use stages::{
    AppResult, Describe, Embed, Embedding, Engine, Engines, ExtractItems, ExtractMemories, Failure,
    ItemDraft, Judge, MemoryDraft, RunApp, Structure, Verdict,
};
use tokio::sync::Semaphore;
use worker::Metrics;

use crate::bench::until;

/// How the fake engines behave, and how often the describing one was asked.
pub(crate) struct Script {
    /// A description waits for a permit.
    pub(crate) gate: Semaphore,
    /// That many descriptions panic first.
    pub(crate) panics: AtomicU32,
    /// Descriptions asked for.
    pub(crate) asked: AtomicU32,
    /// What the next description fails with.
    pub(crate) failure: Mutex<Option<Failure>>,
    /// What the judge says.
    pub(crate) verdict: Mutex<Verdict>,
    /// Each question is counted here as a call to a server, and so stands on the account of its run.
    metrics: Metrics,
}

impl Script {
    /// Engines that answer at once.
    pub(crate) fn open() -> Arc<Self> {
        Self::with(Semaphore::MAX_PERMITS, 0)
    }

    /// Engines whose description waits until the test adds permits to the gate.
    pub(crate) fn held() -> Arc<Self> {
        Self::with(0, 0)
    }

    /// Engines whose first `panics` descriptions panic.
    pub(crate) fn panicking(panics: u32) -> Arc<Self> {
        Self::with(Semaphore::MAX_PERMITS, panics)
    }

    /// Engines whose first description fails with `failure`.
    pub(crate) fn failing(failure: Failure) -> Arc<Self> {
        let script = Self::open();
        *script.failure.lock().unwrap() = Some(failure);
        script
    }

    fn with(permits: usize, panics: u32) -> Arc<Self> {
        Arc::new(Self {
            gate: Semaphore::new(permits),
            panics: AtomicU32::new(panics),
            asked: AtomicU32::new(0),
            failure: Mutex::default(),
            verdict: Mutex::new(Verdict::Keep),
            metrics: Metrics::new(&Registry::new()).unwrap(),
        })
    }

    /// Waits until a description is asked for: what the run recalls before is recalled.
    pub(crate) async fn until_asked(&self) {
        until(|| self.asked.load(Ordering::SeqCst) > 0, "no description is asked for").await;
    }

    /// An engine for each ability, each with an id of its own.
    pub(crate) fn engines(self: &Arc<Self>) -> Engines {
        let engine = |id| Arc::new(Scripted(Arc::clone(self), id));
        Engines {
            judge: engine("judge/1"),
            describe: engine("describe/1"),
            items: engine("items/1"),
            memories: engine("memories/1"),
            embed: engine("embed/1"),
            apps: engine("apps/1"),
            same: Arc::new(|one: &str, other: &str| one == other),
        }
    }
}

struct Scripted(Arc<Script>, &'static str);

impl Scripted {
    fn count(&self, stage: &'static str) {
        self.0.metrics.count_call(stage, "answered");
    }
}

impl Engine for Scripted {
    fn id(&self) -> &str {
        self.1
    }

    fn costs(&self) -> bool {
        true
    }
}

impl Judge for Scripted {
    fn judge<'a>(&'a self, _: &'a Talk) -> BoxFuture<'a, Result<Verdict, Failure>> {
        self.count("detect_discard");
        Box::pin(ready(Ok(*self.0.verdict.lock().unwrap())))
    }
}

impl Describe for Scripted {
    fn describe<'a>(&'a self, _: &'a Talk, _: &'a [Folder]) -> BoxFuture<'a, Result<Structure, Failure>> {
        let script = &self.0;
        script.asked.fetch_add(1, Ordering::SeqCst);
        Box::pin(async move {
            script.gate.acquire().await.unwrap().forget();
            self.count("describe");
            let left =
                script.panics.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
            assert!(left.is_err(), "this description was told to panic");
            if let Some(failure) = script.failure.lock().unwrap().take() {
                return Err(failure);
            }
            Ok(Structure {
                title: "A plan for Friday".to_owned(),
                overview: "They agreed to send the report.".to_owned(),
                category: Category::Work,
                emoji: "📄".to_owned(),
                events: Vec::new(),
                folder_id: None,
            })
        })
    }
}

impl ExtractItems for Scripted {
    fn extract_items<'a>(&'a self, talk: &'a Talk) -> BoxFuture<'a, Result<Vec<ItemDraft>, Failure>> {
        let item = ItemDraft {
            description: "Send the report".to_owned(),
            owner: None,
            due_at: Some(talk.started_at + chrono::TimeDelta::days(1)),
            evidence: None,
        };
        self.count("extract_action_items");
        Box::pin(ready(Ok(vec![item])))
    }
}

impl ExtractMemories for Scripted {
    fn extract_memories<'a>(&'a self, _: &'a Talk) -> BoxFuture<'a, Result<Vec<MemoryDraft>, Failure>> {
        let memory = MemoryDraft {
            content: "Works on reports".to_owned(),
            category: MemoryCategory::Work,
            evidence: None,
        };
        self.count("extract_memories");
        Box::pin(ready(Ok(vec![memory])))
    }
}

impl Embed for Scripted {
    fn embed<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Embedding, Failure>> {
        self.count("embed");
        Box::pin(ready(Ok(Embedding { model: "scripted".to_owned(), vector: vec![1.0, 0.0] })))
    }
}

impl RunApp for Scripted {
    fn run_app<'a>(
        &'a self,
        _: &'a str,
        _: &'a Talk,
        _: &'a Structure,
    ) -> BoxFuture<'a, Result<AppResult, Failure>> {
        self.count("trigger_apps");
        Box::pin(ready(Err(FailureCode::AppFailed.into())))
    }
}

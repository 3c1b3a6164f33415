//! A whole conversation through the stages, with checkpoints in memory: what a worker does, without one.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use engines::{Embedded, OpenAi};
use futures::future::BoxFuture;
use job::CheckpointKey;
use records::{Folder, Talk};
use serde_json::Value;
use stages::{
    CheckpointStore, Context, Engines, Finalized, Interrupted, Kept, Material, Observer, Run, Stages,
};

/// Ignores everything.
struct Unobserved;

impl Observer for Unobserved {}

/// Checkpoints of one job.
#[derive(Default)]
pub(crate) struct Pages(Mutex<HashMap<CheckpointKey, Value>>);

impl Pages {
    /// Every checkpoint, as JSON.
    pub(crate) fn written(&self) -> String {
        self.0.lock().unwrap().values().map(Value::to_string).collect()
    }
}

impl CheckpointStore for Pages {
    fn recall<'a>(&'a self, key: &'a CheckpointKey) -> BoxFuture<'a, Result<Option<Value>, Interrupted>> {
        Box::pin(async { Ok(self.0.lock().unwrap().get(key).cloned()) })
    }

    fn record<'a>(
        &'a self,
        key: &'a CheckpointKey,
        output: Value,
        replaces: bool,
    ) -> BoxFuture<'a, Result<(), Interrupted>> {
        Box::pin(async move {
            let mut pages = self.0.lock().unwrap();
            if replaces || !pages.contains_key(key) {
                pages.insert(*key, output);
            }
            Ok(())
        })
    }

    fn should_stop(&self) -> bool {
        false
    }
}

/// The engines of a process that asks a model server, as the binary ties them: noise is judged by the
/// built-in engine.
pub(crate) fn engines(openai: &OpenAi) -> Engines {
    let (embedded, openai) = (Arc::new(Embedded::new()), Arc::new(openai.clone()));
    Engines {
        judge: embedded.clone(),
        describe: openai.clone(),
        items: openai.clone(),
        memories: openai.clone(),
        embed: openai.clone(),
        apps: openai,
        same: embedded,
    }
}

/// What becomes of `talk` with every app enabled that is named.
pub(crate) async fn finalize(
    openai: &OpenAi,
    talk: &Talk,
    folders: Vec<Folder>,
    apps: &[&str],
    force_process: bool,
) -> Result<Finalized, Interrupted> {
    finalize_with(&Pages::default(), openai, talk, folders, apps, force_process).await
}

/// The same, with the checkpoints in `pages`.
pub(crate) async fn finalize_with(
    pages: &Pages,
    openai: &OpenAi,
    talk: &Talk,
    folders: Vec<Folder>,
    apps: &[&str],
    force_process: bool,
) -> Result<Finalized, Interrupted> {
    let material = Material {
        talk: talk.clone(),
        context: Context {
            folders,
            recent_items: Vec::new(),
            memories: Vec::new(),
            apps: apps.iter().map(|app| (*app).to_owned()).collect(),
            prompt_apps: Vec::new(),
        },
        photos: Vec::new(),
    };
    let run = Run::new(pages, &Unobserved, &material.talk);
    stages::finalize(&run, &Stages::new(engines(openai)), &material, force_process).await
}

/// What was kept.
pub(crate) fn kept(finalized: Result<Finalized, Interrupted>) -> Kept {
    match finalized {
        Ok(Finalized::Kept(kept)) => *kept,
        other => panic!("it should have been kept: {other:?}"),
    }
}

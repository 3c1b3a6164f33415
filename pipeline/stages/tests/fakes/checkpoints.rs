//! Checkpoints in memory, and a diary.

use std::{
    collections::HashMap,
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures::future::BoxFuture;
use job::{CheckpointKey, FailureCode};
use serde_json::Value;
use stages::*;

/// Checkpoints in memory.
#[derive(Default)]
pub struct Memory {
    pub pages: Mutex<HashMap<CheckpointKey, Value>>,
    pub lease_lost: AtomicBool,
    pub stopping: AtomicBool,
}

impl Memory {
    /// The stages that have a checkpoint, sorted.
    pub fn stages(&self) -> Vec<&'static str> {
        let mut stages: Vec<_> = self.pages.lock().unwrap().keys().map(|key| key.stage).collect();
        stages.sort_unstable();
        stages
    }
}

impl CheckpointStore for Memory {
    fn recall<'a>(&'a self, key: &'a CheckpointKey) -> BoxFuture<'a, Result<Option<Value>, Interrupted>> {
        Box::pin(async { Ok(self.pages.lock().unwrap().get(key).cloned()) })
    }

    fn record<'a>(
        &'a self,
        key: &'a CheckpointKey,
        output: Value,
        replaces: bool,
    ) -> BoxFuture<'a, Result<(), Interrupted>> {
        Box::pin(async move {
            if self.lease_lost.load(Ordering::SeqCst) {
                return Err(Interrupted::LeaseLost);
            }
            let mut pages = self.pages.lock().unwrap();
            if replaces || !pages.contains_key(key) {
                pages.insert(*key, output);
            }
            Ok(())
        })
    }

    fn should_stop(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }
}

/// An observer that writes down what it sees.
#[derive(Default)]
pub struct Diary {
    pub done: Mutex<Vec<(StageName, bool)>>,
    pub failed: Mutex<Vec<(StageName, FailureCode)>>,
}

impl Observer for Diary {
    fn stage_started(&self, _: StageName) {}

    fn stage_done(&self, stage: StageName, _: Duration, recalled: bool) -> BoxFuture<'_, ()> {
        Box::pin(async move { self.done.lock().unwrap().push((stage, recalled)) })
    }

    fn stage_failed(&self, stage: StageName, _: Duration, code: FailureCode) {
        self.failed.lock().unwrap().push((stage, code));
    }
}

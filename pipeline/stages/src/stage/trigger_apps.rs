//! `trigger_apps`: the person's summarization apps read the transcript and the structure.

use std::sync::Arc;

use futures::future::join_all;
use job::FailureCode;
use records::Talk;

use super::{Provenance, Stage, StageName};
use crate::{AppResult, Context, Failure, PromptApp, RunApp, Structure, check};

/// The apps that are built in (DECISIONS §5); any other enabled name is skipped.
const BUILT_IN: [&str; 3] = ["minutes", "decisions", "questions"];
/// How often an app is tried before its result is dropped.
const TRIES: usize = 2;
/// How many prompt apps ask the engine at once.
const PROMPTS_AT_ONCE: usize = 5;

/// Runs the enabled apps, all at once. An app that fails never fails the job.
pub struct TriggerApps {
    engine: Arc<dyn RunApp>,
}

impl TriggerApps {
    /// Asks `engine`.
    pub fn new(engine: Arc<dyn RunApp>) -> Self {
        Self { engine }
    }

    async fn run_app(&self, app: &'static str, talk: &Talk, structure: &Structure) -> Option<AppResult> {
        let mut code = FailureCode::AppFailed;
        for _ in 0..TRIES {
            match self.engine.run_app(app, talk, structure).await {
                Ok(result) => return Some(check::app(result)).filter(|result| !result.content.is_empty()),
                Err(failure) => code = failure.code,
            }
        }
        tracing::warn!(app, code = code.as_str(), "a summarization app failed; its result is dropped");
        None
    }

    /// What a prompt app asked for. Title and overview are never its own to write.
    async fn run_prompt(&self, app: &PromptApp, talk: &Talk, structure: &Structure) -> Option<AppResult> {
        let mut code = FailureCode::AppFailed;
        for _ in 0..TRIES {
            match self.engine.run_prompt(&app.id, &app.prompt, talk, structure).await {
                Ok(result) => return Some(check::app(result)).filter(|result| !result.content.is_empty()),
                Err(failure) => code = failure.code,
            }
        }
        tracing::warn!(app = app.id, code = code.as_str(), "a prompt app failed; its result is dropped");
        None
    }
}

impl Stage for TriggerApps {
    const NAME: StageName = "trigger_apps";
    type Input<'a> = (&'a Talk, &'a Structure, &'a Context);
    type Output = Vec<AppResult>;

    fn provenance(&self) -> Provenance<'_> {
        Provenance::of(&*self.engine)
    }

    async fn run<'a>(
        &'a self,
        (talk, structure, context): Self::Input<'a>,
    ) -> Result<Vec<AppResult>, Failure> {
        let apps = BUILT_IN.into_iter().filter(|app| context.apps.iter().any(|name| name == app));
        let mut results = join_all(apps.map(|app| self.run_app(app, talk, structure))).await;
        let prompts: &[PromptApp] = if self.engine.follows_prompts() { &context.prompt_apps } else { &[] };
        for some in prompts.chunks(PROMPTS_AT_ONCE) {
            results.extend(join_all(some.iter().map(|app| self.run_prompt(app, talk, structure))).await);
        }
        Ok(results.into_iter().flatten().collect())
    }
}

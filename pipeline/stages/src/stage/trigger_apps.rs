//! `trigger_apps`: the person's summarization apps read the transcript and the structure.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::join_all;
use job::FailureCode;
use records::{APPS, Talk};

use super::{Provenance, Stage, StageName};
use crate::{AppResult, Context, Failure, PromptApp, RunApp, Structure, check};

/// How often an app is tried before its result is dropped.
const TRIES: usize = 2;
/// How many prompt apps ask the engine at once.
const PROMPTS_AT_ONCE: usize = 5;
/// How long after the stage began no further prompt app asks: a run is ended at its limit, whatever it paid for, and apps fail none.
const LONGEST: Duration = Duration::from_secs(5 * 60);

/// Runs the enabled apps: the built-in ones at once, then those that bring a prompt. An app that fails never fails the job.
pub struct TriggerApps {
    engine: Arc<dyn RunApp>,
    longest: Duration,
}

impl TriggerApps {
    /// Asks `engine`, for five minutes and as long as the last apps take.
    pub fn new(engine: Arc<dyn RunApp>) -> Self {
        Self { engine, longest: LONGEST }
    }

    /// The same, with another time.
    #[must_use]
    pub fn within(self, longest: Duration) -> Self {
        Self { longest, ..self }
    }

    /// What a built-in app, or one that brings a `prompt`, made of it. Title and overview are never its own to write.
    async fn run_app(
        &self,
        app: &str,
        prompt: Option<&str>,
        talk: &Talk,
        structure: &Structure,
    ) -> Option<AppResult> {
        let mut code = FailureCode::AppFailed;
        for _ in 0..TRIES {
            let asked = match prompt {
                Some(prompt) => self.engine.run_prompt(app, prompt, talk, structure),
                None => self.engine.run_app(app, talk, structure),
            };
            match asked.await {
                Ok(result) => return Some(check::app(result)).filter(|result| !result.content.is_empty()),
                Err(failure) => code = failure.code,
            }
        }
        tracing::warn!(app, code = code.as_str(), "a summarization app failed; its result is dropped");
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
        let began = Instant::now();
        // Any other enabled name is skipped.
        let apps = APPS.into_iter().filter(|app| context.apps.iter().any(|name| name == app));
        let mut results = join_all(apps.map(|app| self.run_app(app, None, talk, structure))).await;
        let prompts: &[PromptApp] = if self.engine.follows_prompts() { &context.prompt_apps } else { &[] };
        for some in prompts.chunks(PROMPTS_AT_ONCE) {
            if began.elapsed() >= self.longest {
                tracing::warn!("the time for apps is over: the others write nothing");
                break;
            }
            let run = |app: &'a PromptApp| self.run_app(&app.id, Some(app.prompt.as_str()), talk, structure);
            results.extend(join_all(some.iter().map(run)).await);
        }
        Ok(results.into_iter().flatten().collect())
    }
}

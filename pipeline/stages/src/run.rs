//! Durability: a step recalls what an earlier run paid for, or computes and records it.

use std::time::Instant;

use job::CheckpointKey;
use records::Talk;
use serde::de::DeserializeOwned;
use tracing::{Instrument, field::Empty};

use crate::{CheckpointStore, Failure, Interrupted, Observer, Stage, StageName, digest};

/// One run of one job over one revision.
pub struct Run<'a> {
    checkpoints: &'a dyn CheckpointStore,
    observer: &'a dyn Observer,
    revision: [u8; 32],
}

impl<'a> Run<'a> {
    /// A run over `talk` that keeps its checkpoints in the given store and is watched by `observer`.
    pub fn new(checkpoints: &'a dyn CheckpointStore, observer: &'a dyn Observer, talk: &Talk) -> Self {
        Self { checkpoints, observer, revision: digest::of_revision(talk) }
    }

    /// The output of `stage`: recalled, or else computed, and recorded if it cost something.
    ///
    /// # Errors
    /// `Stopping` when the process wants to stop and the stage has not begun; `LeaseLost` when the output
    /// could not be recorded because another run has the job; `Failed` with the stage's code.
    pub async fn step<'s, S: Stage>(
        &self,
        stage: &'s S,
        input: S::Input<'s>,
    ) -> Result<S::Output, Interrupted> {
        let span = tracing::info_span!(
            target: trace::TARGET,
            "stage",
            otel.name = S::NAME,
            stage = S::NAME,
            engine = stage.provenance().engine,
            outcome = Empty,
            otel.status_code = Empty,
        );
        let ended = self.watched_step(stage, input).instrument(span.clone()).await;
        span.record("outcome", outcome(&ended));
        if let Err(Interrupted::Failed(_)) = ended {
            span.record("otel.status_code", "ERROR");
        }
        ended.map(|(output, _)| output)
    }

    /// The step, and whether its output was recalled.
    async fn watched_step<'s, S: Stage>(
        &self,
        stage: &'s S,
        input: S::Input<'s>,
    ) -> Result<(S::Output, bool), Interrupted> {
        if self.checkpoints.should_stop() {
            return Err(Interrupted::Stopping);
        }
        self.observer.stage_started(S::NAME);
        let began = Instant::now();
        let (output, recalled) = match self.recall_or_run(stage, input).await {
            Ok(done) => done,
            Err(interrupted) => {
                if let Interrupted::Failed(Failure { code, .. }) = interrupted {
                    self.observer.stage_failed(S::NAME, began.elapsed(), code);
                }
                return Err(interrupted);
            }
        };
        self.observer.stage_done(S::NAME, began.elapsed(), recalled).await;
        Ok((output, recalled))
    }

    /// The output, and whether it was recalled. A stage that costs nothing has no checkpoint: it is simply asked again.
    async fn recall_or_run<'s, S: Stage>(
        &self,
        stage: &'s S,
        input: S::Input<'s>,
    ) -> Result<(S::Output, bool), Interrupted> {
        let provenance = stage.provenance();
        if !provenance.costs {
            return Ok((stage.run(input).await?, false));
        }
        let digest = digest::of_step(&self.revision, provenance.engine);
        let key = CheckpointKey { stage: S::NAME, version: S::VERSION, digest };
        let kept = self.checkpoints.recall(&key).await?;
        if let Some(output) = kept.as_ref().and_then(|kept| decode(S::NAME, kept)) {
            return Ok((output, true));
        }
        let output = stage.run(input).await?;
        let fresh = serde_json::to_value(&output).map_err(|_| job::FailureCode::Internal)?;
        self.checkpoints.record(&key, fresh, kept.is_some()).await?;
        Ok((output, false))
    }
}

/// What a trace calls the end of a stage: a failure is its code.
fn outcome<O>(ended: &Result<(O, bool), Interrupted>) -> &'static str {
    match ended {
        Ok((_, true)) => "recalled",
        Ok((_, false)) => "done",
        Err(Interrupted::LeaseLost) => "lease_lost",
        Err(Interrupted::Stopping) => "stopping",
        Err(Interrupted::Failed(failure)) => failure.code.as_str(),
    }
}

/// An undecodable checkpoint is a miss: paying again is better than failing for ever.
fn decode<O: DeserializeOwned>(stage: StageName, kept: &serde_json::Value) -> Option<O> {
    let output = O::deserialize(kept).ok();
    if output.is_none() {
        tracing::warn!(stage, "a checkpoint cannot be decoded; the stage runs again");
    }
    output
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stage_span_records_how_the_stage_ended() {
        let failed = Interrupted::Failed(job::FailureCode::ModelTimeout.into());
        for (ended, told) in [
            (Ok(((), true)), "recalled"),
            (Ok(((), false)), "done"),
            (Err(Interrupted::LeaseLost), "lease_lost"),
            (Err(Interrupted::Stopping), "stopping"),
            (Err(failed), "model_timeout"),
        ] {
            assert_eq!(outcome(&ended), told);
        }
    }
}

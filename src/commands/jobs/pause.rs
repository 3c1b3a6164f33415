//! `listen jobs pause` and `resume`: whether anybody claims from a queue.

use clap::Args;
use job::Queue;
use operations::Operations;
use serde_json::{Value, json};

use crate::commands::{
    consent::Cause,
    living::hands_over,
    over_shards::{Failures, NOT_EVERYWHERE, label, order},
    stdout::say,
    table::print_json,
};

/// Which queue, and why.
#[derive(Args, Debug)]
pub(super) struct Switch {
    /// Queue: finalization or creation.
    #[arg(value_parser = ["finalization", "creation"], default_value = "finalization")]
    queue: String,
    #[command(flatten)]
    cause: Cause,
}

/// Stops claiming.
pub(super) async fn pause(shards: &[Operations], switch: &Switch, as_json: bool) -> anyhow::Result<()> {
    let (queue, action) = (switch.queue(), switch.cause.action());
    let pause = async |shard: &Operations| Ok((shard.pause(queue, &action).await?, PAUSED));
    let (changed, failures) = order(shards, pause).await;
    switch.tell("paused", &changed, "paused already", failures, as_json)
}

/// Claims again.
pub(super) async fn resume(shards: &[Operations], switch: &Switch, as_json: bool) -> anyhow::Result<()> {
    let (queue, action) = (switch.queue(), switch.cause.action());
    let resume = async |shard: &Operations| {
        let changed = shard.resume(queue, &action).await?;
        // It is resumed, whatever cannot be read.
        let workers = shard.workers().await.unwrap_or_default();
        Ok((changed, resumed(queue, hands_over(&workers))))
    };
    let (changed, failures) = order(shards, resume).await;
    switch.tell("claiming", &changed, "not paused", failures, as_json)
}

const PAUSED: &str = "paused: no process claims from it; runs that have begun go on";

/// Who goes on, and when. `is_handed_over`: to a task queue, as finalizations may be.
fn resumed(queue: Queue, is_handed_over: bool) -> &'static str {
    match is_handed_over && queue == Queue::Finalization {
        true => {
            "resumed: what waits is handed to the task queue within seconds; what the queue delivered meanwhile it delivers again \
             by its own backoff"
        }
        false => "resumed: workers claim from it within a second, runs with users' own keys within five",
    }
}

impl Switch {
    fn queue(&self) -> Queue {
        Queue::from_name(&self.queue).unwrap_or(Queue::Finalization)
    }

    /// What became of it in each shard, where there are several.
    ///
    /// # Errors
    /// When it was not done in every shard.
    fn tell(
        &self,
        state: &str,
        changed: &[(Operations, (bool, &str))],
        known: &str,
        failures: Failures,
        as_json: bool,
    ) -> anyhow::Result<()> {
        if as_json && !changed.is_empty() {
            let shards = changed.iter().filter(|(shard, _)| !shard.db().shard().is_only());
            let shards: Vec<Value> = shards
                .map(
                    |(shard, (changed, _))| json!({ "shard": shard.db().shard().number, "changed": changed }),
                )
                .collect();
            let any = changed.iter().any(|(_, (changed, _))| *changed);
            let mut all = json!({ "queue": self.queue, "state": state, "changed": any });
            if !shards.is_empty() {
                all["shards"] = json!(shards);
            }
            print_json(&all)?;
        } else {
            for (shard, (changed, done)) in changed {
                let words = if *changed { done } else { known };
                say!("{}{}: {words}", label(shard), self.queue)?;
            }
        }
        failures.end(NOT_EVERYWHERE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resume_promises_what_the_dispatch_mode_can_keep() {
        assert!(resumed(Queue::Finalization, true).contains("task queue"));
        assert!(resumed(Queue::Finalization, false).contains("within a second"));
        assert!(
            resumed(Queue::Creation, true).contains("within a second"),
            "creates are claimed in every mode"
        );
    }
}

//! `listen jobs pause` and `resume`: whether anybody claims from a queue.

use clap::Args;
use job::Queue;
use operations::Operations;
use serde_json::{Value, json};

use crate::commands::{
    consent::Cause,
    over_shards::{Answers, each, label},
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
///
/// # Errors
/// When a shard does not answer.
pub(super) async fn pause(shards: &[Operations], switch: &Switch, as_json: bool) -> anyhow::Result<()> {
    let (queue, action) = (switch.queue(), switch.cause.action());
    let pause = async |shard: &Operations| Ok(shard.pause(queue, &action).await?);
    let words = ("paused: no process claims from it; runs that have begun go on", "paused already");
    switch.tell("paused", &each(shards, pause).await?, words, as_json)
}

/// Claims again.
///
/// # Errors
/// When a shard does not answer.
pub(super) async fn resume(shards: &[Operations], switch: &Switch, as_json: bool) -> anyhow::Result<()> {
    let (queue, action) = (switch.queue(), switch.cause.action());
    let resume = async |shard: &Operations| Ok(shard.resume(queue, &action).await?);
    let words = (
        "resumed: workers claim from it within a second, runs with people's own keys within five",
        "not paused",
    );
    switch.tell("claiming", &each(shards, resume).await?, words, as_json)
}

impl Switch {
    fn queue(&self) -> Queue {
        Queue::from_name(&self.queue).unwrap_or(Queue::Finalization)
    }

    /// What became of it in each shard, where there are several.
    fn tell(
        &self,
        state: &str,
        changed: &Answers<bool>,
        (done, known): (&str, &str),
        as_json: bool,
    ) -> anyhow::Result<()> {
        if as_json {
            let shards = changed.of.iter().filter(|(shard, _)| !shard.db().shard().is_only());
            let shards: Vec<Value> = shards
                .map(|(shard, changed)| json!({ "shard": shard.db().shard().number, "changed": changed }))
                .collect();
            let any = changed.of.iter().any(|(_, changed)| *changed);
            let mut all = json!({ "queue": self.queue, "state": state, "changed": any });
            if let Some(fields) = all.as_object_mut().filter(|_| !shards.is_empty()) {
                fields.insert("shards".to_owned(), Value::Array(shards));
            }
            print_json(&all)?;
            return changed.complete();
        }
        for (shard, changed) in &changed.of {
            let words = if *changed { done } else { known };
            say!("{}{}: {words}", label(shard), self.queue)?;
        }
        changed.complete()
    }
}

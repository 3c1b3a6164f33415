//! `listen jobs pause` and `resume`: whether anybody claims from a queue.

use clap::Args;
use job::Queue;
use operations::Operations;
use serde_json::json;

use crate::commands::{consent::Cause, stdout::say, table::print_json};

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
pub(super) async fn pause(operations: &Operations, switch: &Switch, as_json: bool) -> anyhow::Result<()> {
    let changed = operations.pause(switch.queue(), &switch.cause.action()).await?;
    let words = if changed {
        "paused: no process claims from it; runs that have begun go on"
    } else {
        "paused already"
    };
    switch.tell("paused", changed, words, as_json)
}

/// Claims again.
pub(super) async fn resume(operations: &Operations, switch: &Switch, as_json: bool) -> anyhow::Result<()> {
    let changed = operations.resume(switch.queue(), &switch.cause.action()).await?;
    let words = if changed {
        "resumed: workers claim from it within a second, runs with people's own keys within five"
    } else {
        "not paused"
    };
    switch.tell("claiming", changed, words, as_json)
}

impl Switch {
    fn queue(&self) -> Queue {
        Queue::from_name(&self.queue).unwrap_or(Queue::Finalization)
    }

    fn tell(&self, state: &str, changed: bool, words: &str, as_json: bool) -> anyhow::Result<()> {
        match as_json {
            true => print_json(&json!({ "queue": self.queue, "state": state, "changed": changed })),
            false => say!("{}: {words}", self.queue),
        }
    }
}

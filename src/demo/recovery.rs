//! A worker of its own is killed in the middle of a run; another one finishes it.

use std::time::Duration;

use anyhow::Context;
use job::JobId;
use serde_json::Value;
use tokio::time::Instant;

use super::{
    PATIENCE,
    child::ChildProcess,
    client::Client,
    report::{Recovery, doubled},
    samples,
    screen::Screen,
};
use crate::{embedded::Private, wiring::App};

/// The stage after which the doomed worker is held, and for how long at most.
const HELD_AFTER: &str = "describe";
const HELD_SECONDS: u64 = 60;

/// A conversation whose worker was killed in the middle of its run.
pub(super) struct Interrupted {
    id: String,
    process: u32,
    killed: Instant,
}

/// Lets a child worker claim a job, holds it between two stages, and kills it with SIGKILL. No other worker may be
/// claiming meanwhile.
pub(super) async fn interrupt(
    private: &Private,
    app: &App,
    client: &Client,
    screen: &Screen,
) -> anyhow::Result<Interrupted> {
    let mut doomed = ChildProcess::start(private, "worker", &arguments(app))?;
    let process = doomed.number;
    let id = client.ingest(&samples::interrupted()).await?;
    client.finalize(&id).await?;
    let is_held = |logged: &Value| logged["message"] == "stage done" && logged["stage"] == HELD_AFTER;
    doomed.logged(|logged| is_held(logged).then_some(())).await?;
    // The line is written just before the pause begins; let the join's other stages pass, too.
    tokio::time::sleep(Duration::from_millis(200)).await;
    screen.held(process, HELD_AFTER, app.config.finalization_lease_seconds);
    doomed.kill().await?;
    screen.killed(process);
    Ok(Interrupted { id, process, killed: Instant::now() })
}

impl Interrupted {
    /// Waits until another worker has finished the job, and looks for anything that came twice.
    pub(super) async fn finished(self, app: &App, client: &Client) -> anyhow::Result<Recovery> {
        let poll = client.wait(&self.id, PATIENCE).await?;
        let milliseconds = self.killed.elapsed().as_secs_f64() * 1e3;
        let conversation = client.conversation(&self.id).await?;
        let items = client.items(&self.id).await?;
        let job_id = JobId::from_text(poll["job_id"].as_str().unwrap_or_default());
        let view = app.shards.first().job(&job_id).await?.context("the job is in the ledger")?;
        Ok(Recovery {
            title: conversation["structured"]["title"].as_str().unwrap_or_default().to_owned(),
            killed_process: self.process,
            held_after: HELD_AFTER.to_owned(),
            lease_seconds: app.config.finalization_lease_seconds,
            milliseconds,
            attempts: view.job.attempts,
            crashes: view.job.crashes,
            generation: view.job.generation.0,
            epoch: view.job.epoch.0,
            status: view.job.state.status().to_owned(),
            action_items: items.len(),
            doubled_items: doubled(items),
            doubled_memories: doubled(client.memories(&self.id).await?),
        })
    }
}

/// The demo's lease, and the pause in which the worker is held.
fn arguments(app: &App) -> Vec<String> {
    vec![
        "--finalization-lease-seconds".to_owned(),
        app.config.finalization_lease_seconds.to_string(),
        "--finalization-heartbeat-seconds".to_owned(),
        app.config.finalization_heartbeat_seconds.to_string(),
        "--demo-pause-after".to_owned(),
        format!("{HELD_AFTER}={HELD_SECONDS}"),
    ]
}

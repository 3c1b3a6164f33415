//! A worker of its own is killed in the middle of a run; another one finishes it.

use std::{process::Stdio, time::Duration};

use anyhow::{Context, bail};
use job::JobId;
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, ChildStderr, Command},
    time::Instant,
};

use super::{
    PATIENCE,
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
    let mut doomed = spawn(private, app)?;
    let process = doomed.id().context("the child worker has a process id")?;
    let logs = doomed.stderr.take().context("the child worker has logs")?;
    let id = client.ingest(&samples::interrupted()).await?;
    client.finalize(&id).await?;
    tokio::time::timeout(PATIENCE, held(logs)).await.context("waiting for the child worker to be held")??;
    screen.held(process, HELD_AFTER, app.config.finalization_lease_seconds);
    doomed.kill().await.context("killing the child worker")?;
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

/// A worker in a process of its own, on the demo's database, with the demo's lease and pause.
fn spawn(private: &Private, app: &App) -> anyhow::Result<Child> {
    let program = std::env::current_exe().context("finding this program")?;
    Command::new(program)
        .args(["serve", "--roles", "worker", "--finalization-dispatch-mode", "postgres"])
        .args([
            "--addr",
            "127.0.0.1:0",
            "--admin-addr",
            "127.0.0.1:0",
            "--log",
            "info",
            "--log-format",
            "json",
        ])
        .args(["--finalization-lease-seconds", &app.config.finalization_lease_seconds.to_string()])
        .args(["--finalization-heartbeat-seconds", &app.config.finalization_heartbeat_seconds.to_string()])
        .args(["--demo-pause-after", &format!("{HELD_AFTER}={HELD_SECONDS}")])
        .env("DATABASE_URL", private.url())
        .env("LISTEN_SHARDS", "1")
        .env_remove("LISTEN_SHARD_URLS")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .context("starting a child worker")
}

/// Waits for the log line that says that the stage is done: from then on the run is held.
async fn held(logs: ChildStderr) -> anyhow::Result<()> {
    let mut lines = BufReader::new(logs).lines();
    while let Some(line) = lines.next_line().await.context("reading the child worker's log")? {
        let told: serde_json::Value = serde_json::from_str(&line).unwrap_or_default();
        if told["message"] == "stage done" && told["stage"] == HELD_AFTER {
            // The line is written just before the pause begins; let the join's other stages pass, too.
            tokio::time::sleep(Duration::from_millis(200)).await;
            return Ok(());
        }
    }
    bail!("the child worker ended by itself")
}

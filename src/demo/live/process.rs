//! A process with the role `api` alone, on the demo's database.

use std::process::Stdio;

use anyhow::{Context, bail};
use tokio::{
    io::{AsyncBufReadExt, BufReader, Lines},
    process::{Child, ChildStderr, Command},
    time::timeout,
};

use crate::{demo::PATIENCE, embedded::Private};

/// A process that takes live sockets.
pub(super) struct Api {
    pub(super) number: u32,
    /// `http://…`
    pub(super) address: String,
    child: Child,
    /// Kept, so that the process can go on writing.
    _logs: Lines<BufReader<ChildStderr>>,
}

impl Api {
    pub(super) async fn start(private: &Private) -> anyhow::Result<Self> {
        let program = std::env::current_exe().context("finding this program")?;
        let mut child = Command::new(program)
            .args(["serve", "--roles", "api", "--finalization-dispatch-mode", "postgres"])
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
            .env("DATABASE_URL", private.url())
            .env("LISTEN_SHARDS", "1")
            .env_remove("LISTEN_SHARD_URLS")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .context("starting a second process")?;
        let number = child.id().context("the second process has an id")?;
        let mut logs = BufReader::new(child.stderr.take().context("the second process has logs")?).lines();
        let address =
            timeout(PATIENCE, listening(&mut logs)).await.context("waiting for the second process")??;
        Ok(Self { number, address: format!("http://{address}"), child, _logs: logs })
    }

    /// Kills it with SIGKILL.
    pub(super) async fn kill(mut self) -> anyhow::Result<()> {
        self.child.kill().await.context("killing the second process")
    }
}

/// The address that the process logs once it listens.
async fn listening(logs: &mut Lines<BufReader<ChildStderr>>) -> anyhow::Result<String> {
    while let Some(line) = logs.next_line().await.context("reading the second process's log")? {
        let logged: serde_json::Value = serde_json::from_str(&line).unwrap_or_default();
        if logged["message"] == "listening"
            && let Some(address) = logged["api"].as_str()
        {
            return Ok(address.to_owned());
        }
    }
    bail!("the second process ended by itself")
}

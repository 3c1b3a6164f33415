//! A process of its own with one role, on the demo's database: it is there to be killed.

use std::process::Stdio;

use anyhow::{Context, bail};
use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt, BufReader, Lines},
    process::{Child, ChildStderr, Command},
    time::timeout,
};

use super::PATIENCE;
use crate::embedded::Private;

/// A process of its own, and what it logs.
pub(super) struct ChildProcess {
    pub(super) number: u32,
    child: Child,
    /// Kept, so that the process can go on writing.
    logs: Lines<BufReader<ChildStderr>>,
}

impl ChildProcess {
    /// Starts one with `role`, and with more arguments.
    pub(super) fn start(private: &Private, role: &str, more: &[String]) -> anyhow::Result<Self> {
        let program = std::env::current_exe().context("finding this program")?;
        let mut child = Command::new(program)
            .args(["serve", "--roles", role, "--finalization-dispatch-mode", "postgres"])
            .args(["--addr", "127.0.0.1:0", "--admin-addr", "127.0.0.1:0", "--rate-per-minute", "0"])
            .args(["--user-conversations-per-day", "0", "--user-waiting-jobs", "0"])
            .args(["--log", "info", "--log-format", "json"])
            .args(more)
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
        let logs = BufReader::new(child.stderr.take().context("the second process has logs")?).lines();
        Ok(Self { number, child, logs })
    }

    /// Waits until it logs a line in which `find` finds something.
    pub(super) async fn logged<T>(&mut self, find: impl Fn(&Value) -> Option<T>) -> anyhow::Result<T> {
        timeout(PATIENCE, self.read(find)).await.context("waiting for the second process")?
    }

    async fn read<T>(&mut self, find: impl Fn(&Value) -> Option<T>) -> anyhow::Result<T> {
        while let Some(line) = self.logs.next_line().await.context("reading the second process's log")? {
            let logged: Value = serde_json::from_str(&line).unwrap_or_default();
            if let Some(found) = find(&logged) {
                return Ok(found);
            }
        }
        bail!("the second process ended by itself")
    }

    /// Kills it with SIGKILL.
    pub(super) async fn kill(mut self) -> anyhow::Result<()> {
        self.child.kill().await.context("killing the second process")
    }
}

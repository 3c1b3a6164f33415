//! The program under test, as a process of its own: what it computes and keeps in memory is its alone.

use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStderr, Command};
use tokio::time::timeout;

use crate::setup::cpu_of;

/// A running `listen serve`; it ends with this value.
pub(super) struct Program {
    child: Child,
    /// The base URL of its API.
    pub(super) api: String,
}

impl Program {
    pub(super) async fn start(database: &str, speech: &str, sessions: usize) -> Self {
        let mut child = Command::new(chaos::program())
            .args(["serve", "--log-format", "json"])
            .envs([
                ("DATABASE_URL", database),
                ("LISTEN_ADDR", "127.0.0.1:0"),
                ("LISTEN_ADMIN_ADDR", "127.0.0.1:0"),
                ("LISTEN_FINALIZATION_DISPATCH_MODE", "postgres"),
                ("LISTEN_TEXT_ENGINE", "embedded"),
                ("LISTEN_SPEECH_BASE_URL", speech),
                ("LISTEN_SPEECH_CONCURRENCY", "64"),
                ("LISTEN_RATE_PER_MINUTE", "0"),
                ("LISTEN_LOG", "warn,listen=info"),
            ])
            .env("LISTEN_LIVE_SESSIONS", sessions.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("the program can be started");
        let mut logs = BufReader::new(child.stderr.take().expect("its logs are piped")).lines();
        let api = timeout(Duration::from_secs(30), listening(&mut logs)).await.expect("it listens in time");
        tokio::spawn(async move { while let Ok(Some(_)) = logs.next_line().await {} });
        Self { child, api }
    }

    /// Milliseconds that it has computed.
    pub(super) fn cpu(&self) -> f64 {
        cpu_of(&self.id())
    }

    /// KiB that it keeps in memory.
    pub(super) fn resident(&self) -> f64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        line.and_then(|line| line.split_whitespace().next()?.parse().ok()).expect("Linux says so")
    }

    fn id(&self) -> String {
        self.child.id().expect("it runs").to_string()
    }
}

async fn listening(logs: &mut Lines<BufReader<ChildStderr>>) -> String {
    while let Ok(Some(line)) = logs.next_line().await {
        let line: Value = serde_json::from_str(&line).unwrap_or_default();
        if line["message"] == "listening" {
            return format!("http://{}", line["api"].as_str().unwrap_or_default());
        }
    }
    panic!("the program ended");
}

//! One process of the service: started, read, signalled, and killed with the test.

use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, ChildStderr, Command};
use tokio::sync::watch;

use crate::binary;

/// How long anything may take. A healthy machine needs a small part of it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Of processes that stay: a machine that stands still for the three seconds of a short lease must not look like a death.
pub(crate) const STEADY: [(&str, &str); 2] =
    [("LISTEN_FINALIZATION_LEASE_SECONDS", "30"), ("LISTEN_FINALIZATION_HEARTBEAT_SECONDS", "5")];

/// A running `listen serve`.
pub(crate) struct Process {
    child: Child,
    logs: watch::Receiver<Arc<Vec<String>>>,
    /// The base URL of the API; empty where the process has none.
    pub(crate) api: String,
    /// The base URL of metrics and health.
    pub(crate) admin: String,
}

impl Process {
    /// Starts one and waits until it listens. `settings` are added to the ones that all of these tests need.
    pub(crate) async fn serve(database: &str, settings: &[(&str, &str)]) -> Self {
        Self::of(binary::path(), database, settings).await
    }

    /// The same of another program, such as one of another version.
    pub(crate) async fn of(program: &Path, database: &str, settings: &[(&str, &str)]) -> Self {
        let mut child = Command::new(program)
            .args(["serve", "--log-format", "json"])
            .envs([
                ("DATABASE_URL", database),
                ("LISTEN_ADDR", "127.0.0.1:0"),
                ("LISTEN_ADMIN_ADDR", "127.0.0.1:0"),
                ("LISTEN_DATABASE_CONNECTIONS", "5"),
                ("LISTEN_FINALIZATION_DISPATCH_MODE", "postgres"),
                ("LISTEN_FINALIZATION_LEASE_SECONDS", "3"),
                ("LISTEN_FINALIZATION_HEARTBEAT_SECONDS", "1"),
                ("LISTEN_ALLOW_OUTGOING", "127.0.0.0/8"),
                ("LISTEN_TEXT_ENGINE", "embedded"),
                ("LISTEN_LOG", "info"),
            ])
            .envs(settings.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("the program can be started");
        let logs = follow(child.stderr.take().expect("its logs are piped"));
        let mut process = Self { child, logs, api: String::new(), admin: String::new() };
        let listening = process.line("listening", |_| true).await;
        let base =
            |name: &str| listening[name].as_str().map(|addr| format!("http://{addr}")).unwrap_or_default();
        (process.api, process.admin) = (base("api"), base("admin"));
        process
    }

    /// One that goes on with what another one left: on no machine is it so slow that its own runs are taken for dead.
    pub(crate) async fn outliving(database: &str, settings: &[(&str, &str)]) -> Self {
        let lease = [("LISTEN_FINALIZATION_LEASE_SECONDS", "30")];
        Self::serve(database, &[settings, &lease].concat()).await
    }

    /// One that holds every run after `stage`.
    pub(crate) async fn held_after(database: &str, stage: &str, seconds: u32) -> Self {
        let pause = format!("{stage}={seconds}");
        Self::serve(database, &[("LISTEN_DEMO_PAUSE_AFTER", &pause)]).await
    }

    /// Waits for a log line with that message that satisfies `wanted`.
    pub(crate) async fn line(&mut self, message: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let find = |lines: &Arc<Vec<String>>| {
            let read = |line: &String| serde_json::from_str::<Value>(line).ok();
            lines.iter().filter_map(read).find(|line| line["message"] == message && wanted(line))
        };
        let found = tokio::time::timeout(PATIENCE, self.logs.wait_for(|lines| find(lines).is_some())).await;
        let found = found.ok().and_then(Result::ok).and_then(|lines| find(&lines));
        found.unwrap_or_else(|| panic!("no line `{message}` among:\n{}", self.logs()))
    }

    /// Waits until a run has finished `stage`; a process with a pause after that stage waits there then.
    pub(crate) async fn stage_done(&mut self, stage: &str) {
        self.line("stage done", |line| line["stage"] == stage).await;
    }

    /// Everything it has logged.
    pub(crate) fn logs(&self) -> String {
        self.logs.borrow().join("\n")
    }

    /// Its number, while it runs.
    pub(crate) fn id(&self) -> u32 {
        self.child.id().expect("it still runs")
    }

    /// Sends a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        let id = self.child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        kill_process(id.expect("it still runs"), signal).expect("a child can be signalled");
    }

    /// Waits for its end, and until all that it said is read.
    pub(crate) async fn ended(&mut self) -> ExitStatus {
        let ended = async {
            let status = self.child.wait().await;
            while self.logs.changed().await.is_ok() {}
            status
        };
        let ended = tokio::time::timeout(PATIENCE, ended).await;
        ended.expect("it ends in time").expect("its end can be waited for")
    }

    /// Kills it as a lost machine would.
    pub(crate) async fn kill(mut self) {
        self.signal(Signal::KILL);
        self.ended().await;
    }
}

/// Waits until it is seen.
pub(crate) async fn until<F: Future<Output = bool>>(seen: impl Fn() -> F) {
    let look = async {
        while !seen().await {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, look).await.expect("it is seen in time");
}

/// Collects lines as they come, so that the process never blocks on a full pipe.
fn follow(stderr: ChildStderr) -> watch::Receiver<Arc<Vec<String>>> {
    let (tell, logs) = watch::channel(Arc::new(Vec::new()));
    tokio::spawn(async move {
        let mut lines = BufReader::new(stderr).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            tell.send_modify(|all| Arc::make_mut(all).push(line));
        }
    });
    logs
}

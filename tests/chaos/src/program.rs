//! The program under test: built once, run as commands and as services.

use std::fs::File;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep};

pub(crate) use crate::built::path;

/// How long a process may take to listen, or to end.
const PATIENCE: Duration = Duration::from_secs(30);

/// Where libraries that fake a clock are installed.
const FAKE_CLOCKS: [&str; 3] = [
    "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1",
    "/usr/lib/aarch64-linux-gnu/faketime/libfaketime.so.1",
    "/usr/lib/faketime/libfaketime.so.1",
];

/// The library that moves a process's clock, where it is installed.
pub(crate) fn fake_clock() -> Option<&'static str> {
    FAKE_CLOCKS.into_iter().find(|path| Path::new(path).exists())
}

/// Runs a command of the program to its end: its exit code and what it said on stdout.
pub(crate) async fn command(database: &str, words: &[&str]) -> (Option<i32>, String) {
    let ran = Command::new(path()).args(words).env("DATABASE_URL", database).kill_on_drop(true).output();
    match tokio::time::timeout(PATIENCE, ran).await {
        Ok(output) => {
            let output = output.expect("the program can be run");
            (output.status.code(), String::from_utf8_lossy(&output.stdout).trim().to_owned())
        }
        Err(_) => (None, String::new()),
    }
}

/// A running `listen serve`.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    /// What the history calls it.
    pub(crate) name: String,
    /// Its number on this machine, part of its name in leases.
    pub(crate) pid: u32,
    /// The base URL of its API.
    pub(crate) api: String,
    /// The base URL of its metrics.
    pub(crate) admin: String,
}

impl Process {
    /// Starts one and waits until it listens. `skew` moves its clock, in seconds; `open_files` is how many it may open.
    pub(crate) async fn serve(
        name: &str,
        database: &str,
        settings: &[(String, String)],
        skew: i64,
        open_files: Option<u32>,
        log: &Path,
    ) -> Self {
        let file = File::create(log).expect("a log can be made");
        let mut command = match open_files {
            None => Command::new(path()),
            Some(files) => {
                let mut shell = Command::new("sh");
                shell.arg("-c").arg(format!("ulimit -n {files} && exec \"$0\" \"$@\"")).arg(path());
                shell
            }
        };
        command.args(["serve", "--log-format", "json"]).env("DATABASE_URL", database);
        command.envs(settings.iter().map(|(name, value)| (name, value)));
        if let (Some(library), true) = (fake_clock(), skew != 0) {
            // Durations stay true: only what the process believes the hour to be is moved.
            command.env("LD_PRELOAD", library).env("FAKETIME", format!("{skew:+}"));
            command.env("FAKETIME_DONT_FAKE_MONOTONIC", "1").env("DONT_FAKE_MONOTONIC", "1");
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(file).kill_on_drop(true);
        let child = command.spawn().expect("the program can be started");
        let pid = child.id().expect("it runs");
        let mut process =
            Self { child, name: name.to_owned(), pid, api: String::new(), admin: String::new() };
        process.listen(log).await;
        process
    }

    async fn listen(&mut self, log: &Path) {
        let begun = Instant::now();
        loop {
            let said = std::fs::read_to_string(log).unwrap_or_default();
            let lines = said.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
            if let Some(line) = lines.into_iter().find(|line| line["message"] == "listening") {
                let base = |name: &str| format!("http://{}", line[name].as_str().unwrap_or_default());
                (self.api, self.admin) = (base("api"), base("admin"));
                return;
            }
            assert!(begun.elapsed() < PATIENCE, "{} does not listen: {said}", self.name);
            sleep(Duration::from_millis(20)).await;
        }
    }

    /// Sends a signal; `false` when it is gone already.
    pub(crate) fn signal(&self, signal: Signal) -> bool {
        let pid = i32::try_from(self.pid).ok().and_then(Pid::from_raw);
        self.child.id().is_some() && pid.is_some_and(|pid| kill_process(pid, signal).is_ok())
    }

    /// Whether it has ended by itself.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().is_ok_and(|ended| ended.is_some())
    }

    /// Waits for its end, a while.
    pub(crate) async fn ended(&mut self, patience: Duration) -> bool {
        tokio::time::timeout(patience, self.child.wait()).await.is_ok()
    }
}

//! The side of the line protocol that asks: a process per queue, a line per verb, a line of JSON per answer.

use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout};
use tokio::time::timeout;

use super::{facts::Manner, facts::Peer, kit};
use crate::setup::cpu_of;

/// An answer that takes longer than this never comes.
const PATIENCE: Duration = Duration::from_secs(600);

/// A running adapter.
pub(crate) struct Adapter {
    child: Child,
    words: ChildStdin,
    answers: Lines<BufReader<ChildStdout>>,
    process: String,
}

impl Adapter {
    /// Starts the adapter of `peer` on the database at `url`.
    pub(crate) fn start(peer: &Peer, manner: Manner, url: &str) -> Result<Self, String> {
        let mut program = kit::program(peer);
        program.arg(manner.word()).env("DATABASE_URL", url);
        program.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit()).kill_on_drop(true);
        let mut child = program.spawn().map_err(|error| format!("cannot be started: {error}"))?;
        let words = child.stdin.take().ok_or("has no standard input")?;
        let answers = child.stdout.take().ok_or("has no standard output")?;
        let process = child.id().map(|id| id.to_string()).unwrap_or_default();
        Ok(Self { child, words, answers: BufReader::new(answers).lines(), process })
    }

    /// Says a line and waits for its answer.
    pub(crate) async fn ask(&mut self, line: &str) -> Result<Value, String> {
        let said = self.words.write_all(format!("{line}\n").as_bytes()).await;
        said.map_err(|_| format!("ended before `{line}`"))?;
        self.hear(PATIENCE).await.map_err(|error| format!("{error} to `{line}`"))
    }

    /// Waits for the next answer.
    pub(crate) async fn hear(&mut self, patience: Duration) -> Result<Value, String> {
        let answer = timeout(patience, self.answers.next_line()).await;
        let answer = answer.map_err(|_| "no answer came".to_owned())?;
        let answer = answer.ok().flatten().ok_or("it ended instead of answering")?;
        serde_json::from_str(&answer).map_err(|_| format!("no JSON was answered: {answer}"))
    }

    /// Asks for a count.
    pub(crate) async fn left(&mut self) -> Result<i64, String> {
        self.ask("left").await?["left"].as_i64().ok_or("no count was answered".to_owned())
    }

    /// Milliseconds that it has computed.
    pub(crate) fn cpu(&self) -> f64 {
        cpu_of(&self.process)
    }

    /// SIGKILL.
    pub(crate) async fn kill(&mut self) {
        self.child.kill().await.ok();
    }
}

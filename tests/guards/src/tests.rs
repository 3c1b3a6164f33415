//! Building and running the test programs of the copy.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;

use crate::Result;
use crate::splice::{REACHED, SWITCH};

/// A test program, and which of its tests.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Program {
    package: String,
    target: String,
    arguments: Vec<String>,
}

impl Program {
    /// Reads the words of a table: a package, a target of it (`lib` for its unit tests), and arguments for the program.
    pub(crate) fn parse(words: &str) -> Result<Self> {
        let mut parts = words.split_whitespace().map(str::to_owned);
        let (Some(package), Some(target)) = (parts.next(), parts.next()) else {
            return Err(format!("{words:?} names no package and target").into());
        };
        Ok(Self { package, target, arguments: parts.collect() })
    }

    /// All of the same program's tests.
    pub(crate) fn whole(&self) -> Self {
        Self { arguments: Vec::new(), ..self.clone() }
    }

    /// These of the same program's tests.
    pub(crate) fn exactly<'a>(&self, tests: impl IntoIterator<Item = &'a str>) -> Self {
        let arguments = std::iter::once("--exact").chain(tests).map(str::to_owned).collect();
        Self { arguments, ..self.clone() }
    }
}

impl fmt::Display for Program {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{} {}", self.package, self.target)?;
        self.arguments.iter().try_for_each(|argument| write!(to, " {argument}"))
    }
}

/// What a test program that was run says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    /// All is well.
    Passed,
    /// This test failed, or all of it did not end well.
    Failed(String),
    /// This test fails, now and then at least, with every guard in place, too.
    Unclear(String),
}

/// Test programs that were built: (package, target) → (program, folder of the package).
pub(crate) type Built = BTreeMap<(String, String), (PathBuf, PathBuf)>;

/// Sees whether the packages of `programs` compile in the tree at `folder`.
pub(crate) async fn check(folder: &Path, programs: &[Program]) -> Result<()> {
    let packages: BTreeSet<&str> = programs.iter().map(|program| program.package.as_str()).collect();
    let mut cargo = cargo(folder, "check");
    cargo.args(packages.into_iter().flat_map(|package| ["-p", package]));
    said(cargo).await.map(drop)
}

/// Builds `programs` in the tree at `folder`. `Err`: it cannot be built.
pub(crate) async fn build(folder: &Path, programs: &[Program]) -> Result<Built> {
    let mut built = Built::new();
    let packages: BTreeSet<&str> = programs.iter().map(|program| program.package.as_str()).collect();
    for package in packages {
        let targets: BTreeSet<&str> = programs
            .iter()
            .filter(|program| program.package == package)
            .map(|program| program.target.as_str())
            .collect();
        let mut cargo = cargo(folder, "test");
        cargo.args(["--no-run", "--message-format=json-render-diagnostics", "-p", package]);
        for target in targets {
            match target {
                "lib" => cargo.arg("--lib"),
                name => cargo.args(["--test", name]),
            };
        }
        let lines = said(cargo).await?;
        built.extend(lines.lines().filter_map(|line| executable(package, line)));
    }
    Ok(built)
}

/// Builds the service in the tree at `folder`, and answers where it is.
pub(crate) async fn build_service(folder: &Path) -> Result<PathBuf> {
    let mut cargo = cargo(folder, "build");
    cargo.args(["-p", "listen", "--bin", "listen"]);
    said(cargo).await?;
    Ok(folder.join("target/debug/listen"))
}

/// Cargo in the tree at `folder`, with a target folder of its own: cargo gives the same names to what it builds of a tree and
/// of its copy.
fn cargo(folder: &Path, verb: &str) -> Command {
    let mut cargo = Command::new(std::env::var("CARGO").unwrap_or_else(|_| "cargo".into()));
    cargo.arg(verb).current_dir(folder).env("CARGO_TARGET_DIR", folder.join("target"));
    cargo
}

/// What cargo prints. `Err`: what the compiler complains of.
async fn said(mut cargo: Command) -> Result<String> {
    let done = cargo.output().await?;
    if !done.status.success() {
        // A choice of texts has parentheses too many, and is warned of at length.
        let said = String::from_utf8_lossy(&done.stderr);
        return Err(said.find("\nerror").map_or(&*said, |place| &said[place..]).into());
    }
    Ok(String::from_utf8_lossy(&done.stdout).into_owned())
}

/// The test program that a line of cargo's announces.
fn executable(package: &str, line: &str) -> Option<((String, String), (PathBuf, PathBuf))> {
    let message: Value = serde_json::from_str(line).ok()?;
    let program = message["executable"].as_str()?;
    if message["profile"]["test"] != true {
        return None;
    }
    let target = match message["target"]["kind"][0].as_str()? {
        "test" => message["target"]["name"].as_str()?,
        _ => "lib",
    };
    let folder = Path::new(message["manifest_path"].as_str()?).parent()?;
    Some(((package.to_owned(), target.to_owned()), (program.into(), folder.to_owned())))
}

/// How often a test is asked again, alone.
const ASKED_AGAIN: usize = 3;

/// What a program says with `off` switched off (`None`: it was built without the guard). A failure counts when it can be
/// repeated, and when the same test passes every time with every guard in place: on a machine that has much else to do, a
/// test may fail for want of time. A program that was built without its guard cannot be asked for the second: there a failure
/// counts when the test never passes.
pub(crate) async fn ask(
    built: &Built,
    program: &Program,
    off: Option<&str>,
    limit: Duration,
) -> Result<Said> {
    let name = off.unwrap_or_default();
    for _ in 0..2 {
        let Said::Failed(test) = run(built, program, name, limit).await? else { return Ok(Said::Passed) };
        if !test.contains("::") {
            let is_ours = off.is_none() || run(built, program, "", limit).await? == Said::Passed;
            return Ok(if is_ours { Said::Failed(test) } else { Said::Unclear(test) });
        }
        let alone = program.exactly([test.as_str()]);
        if off.is_none() && !says(built, &alone, name, limit, true).await? {
            return Ok(Said::Failed(test));
        }
        if off.is_none() || !says(built, &alone, name, limit, false).await? {
            continue;
        }
        if says(built, &alone, "", limit, false).await? {
            return Ok(Said::Unclear(test));
        }
        return Ok(Said::Failed(test));
    }
    Ok(Said::Passed)
}

/// Whether a program passes, or fails, at least once in a few times.
async fn says(built: &Built, program: &Program, off: &str, limit: Duration, passes: bool) -> Result<bool> {
    for _ in 0..ASKED_AGAIN {
        if (run(built, program, off, limit).await? == Said::Passed) == passes {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The names of a program's tests.
pub(crate) async fn names(built: &Built, program: &Program) -> Result<BTreeSet<String>> {
    let said = command(built, program)?.args(["--list", "--format", "terse"]).output().await?;
    let said = String::from_utf8(said.stdout)?;
    Ok(said.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect())
}

/// Whether a program passes with every guard in place, while it writes to `file` which guards it comes by.
pub(crate) async fn trace(built: &Built, program: &Program, file: &Path, limit: Duration) -> Result<bool> {
    let mut command = command(built, program)?;
    Ok(listened(command.env(REACHED, file), limit).await? == Said::Passed)
}

/// Runs one program with `off` switched off, until it ends or its first test fails.
async fn run(built: &Built, program: &Program, off: &str, limit: Duration) -> Result<Said> {
    listened(command(built, program)?.env(SWITCH, off), limit).await
}

fn command(built: &Built, program: &Program) -> Result<Command> {
    let place = (program.package.clone(), program.target.clone());
    let (path, folder) = built.get(&place).ok_or_else(|| format!("{place:?} was not built"))?;
    let mut command = Command::new(path);
    command.args(&program.arguments).env("CARGO_MANIFEST_DIR", folder).current_dir(folder);
    // Nobody reads where a test failed, and looking its names up takes longer than many a test.
    command
        .env("RUST_BACKTRACE", "0")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true);
    Ok(command)
}

async fn listened(command: &mut Command, limit: Duration) -> Result<Said> {
    let mut child = command.spawn()?;
    let output = child.stdout.take().ok_or("its output is ours")?;
    let listened = tokio::time::timeout(limit, listen(output)).await;
    let said = match listened {
        Err(_) => Said::Failed(format!("it had not ended after {} s", limit.as_secs())),
        Ok(Some(failed)) => Said::Failed(failed),
        Ok(None) => match child.wait().await?.success() {
            true => Said::Passed,
            false => Said::Failed("the whole program".into()),
        },
    };
    // One failure says enough; what a killed test leaves behind goes with the next.
    let _ended_by_itself = child.kill().await;
    Ok(said)
}

/// The first test that is reported as failed.
async fn listen(output: impl tokio::io::AsyncRead + Unpin) -> Option<String> {
    let mut lines = BufReader::new(output).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        if let Some(name) = line.strip_prefix("test ").and_then(|line| line.strip_suffix(" ... FAILED")) {
            return Some(name.to_owned());
        }
    }
    None
}

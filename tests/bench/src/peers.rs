//! Peers, in a workspace of their own (`tests/bench/peers`): built once, each load on an empty database of its own.
//!
//! `peers/` measures all of them by one protocol, ours included; what stands here asks only bare apalis-postgres, for
//! the tables of admission and latency.

mod adapter;
mod cell;
mod contest;
mod facts;
mod floor;
mod kit;
mod ours;
mod recovery;
mod round;
mod sizes;
mod tables;

#[path = "../peers/src/line.rs"]
mod line;

use std::process::Stdio;

use serde_json::Value;
use tokio::process::Command;

pub(crate) use contest::table;
pub(crate) use ours::adapter;
pub(crate) use sizes::Sizes;

use crate::setup::Setup;

/// Runs one load of the peer and gives what it measured.
pub(crate) async fn run(setup: &Setup, words: &[&str]) -> Value {
    let url = setup.empty_database("peer").await;
    let mut cargo = cargo("run");
    cargo.args(["--quiet", "--"]).args(words).env("DATABASE_URL", url).stderr(Stdio::inherit());
    let ran = cargo.output().await.expect("cargo can be run");
    assert!(ran.status.success(), "the peer failed under {words:?}");
    serde_json::from_slice(&ran.stdout).expect("the peer prints one line of JSON")
}

/// Builds the peer, so that no measurement waits for a compiler.
pub(crate) async fn build() {
    assert!(cargo("build").status().await.expect("cargo can be run").success(), "the peer cannot be built");
}

fn cargo(command: &str) -> Command {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/peers/Cargo.toml");
    let target = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/peers");
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args([command, "--release", "--manifest-path", manifest, "--target-dir", target]);
    cargo
}

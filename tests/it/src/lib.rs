//! Whole-system tests live in `tests/`; here is where they find the files of the tree.
#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "for tests only: a tree that cannot be read must fail them"
)]

use std::fs;
use std::path::{Path, PathBuf};

/// The root of the tree.
///
/// # Panics
/// Where this crate was moved.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).expect("this crate lives two folders below the root").to_owned()
}

/// A file's text, by its path from the root.
///
/// # Panics
/// If there is no such file.
pub fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path} cannot be read: {error}"))
}

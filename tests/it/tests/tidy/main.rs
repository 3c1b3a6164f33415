//! Is the tree still in order? Reads the manifests, the sources and the pages; SQL is prepared, and nothing of ours runs.
#![allow(
    clippy::panic,
    clippy::expect_used,
    reason = "these are tests: a tree that cannot be read must fail them"
)]

mod tree;

mod distributed;
mod import_cycles;
mod imports;
mod migrations;
mod one_build;
mod pages;
mod readme;
mod sources;
mod statements;

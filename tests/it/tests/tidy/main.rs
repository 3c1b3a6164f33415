//! Is the tree still in order? Reads the manifests, the sources and the pages, and runs nothing of ours.
#![allow(
    clippy::panic,
    clippy::expect_used,
    reason = "these are tests: a tree that cannot be read must fail them"
)]

mod tree;

mod circles;
mod distributed;
mod imports;
mod migrations;
mod pages;
mod readme;
mod sources;

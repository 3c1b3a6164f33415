//! Do the files of `deploy/` say what the program does? Names of settings, ports, paths, times and the autoscaler's SQL are held
//! against the built program and a migrated database. `deploy/test` holds the same files against the schemas of Kubernetes.
#![allow(
    clippy::panic,
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "these are tests: whatever is not as expected must fail them"
)]

#[allow(dead_code, reason = "shared with the system tests")]
#[path = "../system/binary.rs"]
mod binary;
mod files;
#[allow(dead_code, reason = "shared with the system tests")]
#[path = "../system/process.rs"]
mod process;

mod autoscaler;
mod image;
mod kubernetes;
mod settings;
mod systemd;
mod times;

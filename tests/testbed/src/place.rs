//! Where the tests' cluster lives.

use std::path::{Path, PathBuf};

/// A template and a database take 8 MB each, some databases 100, and the write-ahead log grows to 256.
const ROOM: u64 = 2 << 30;

/// A directory in memory where there is room for it (containers often have 64 MB), else in the
/// temporary folder. Every user has one of their own.
pub(crate) fn directory() -> PathBuf {
    let name = format!("listen-tests-{}", rustix::process::geteuid().as_raw());
    let memory = Path::new("/dev/shm");
    let parent = if has_room(memory) { memory.to_owned() } else { std::env::temp_dir() };
    parent.join(name)
}

fn has_room(directory: &Path) -> bool {
    // The whole size, not what is free: the answer must be the same for all processes of a run.
    rustix::fs::statvfs(directory).is_ok_and(|found| found.f_blocks.saturating_mul(found.f_frsize) >= ROOM)
}

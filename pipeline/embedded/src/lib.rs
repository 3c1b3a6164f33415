//! A private PostgreSQL, for `listen dev`, `listen demo` and the tests.
//!
//! [`Cluster::ensure`] answers with a server that accepts connections: the one that already runs in
//! the cluster's directory, or one it starts from the machine's server programs, or from programs
//! it fetches once. That server has no owner. It listens on a unix socket only, so there are no ports
//! to fight over, and a session inside it (the reaper) stops it once no client has been connected
//! for a while. Interrupts, `kill -9` and several processes at once therefore need no handling here
//! and leave nothing behind.
//!
//! Never for production: authentication is the directory's permissions (0700).
//!
//! | environment variable | meaning |
//! |---|---|
//! | `PG_BIN_DIR` | directory of `postgres` and `initdb`; nothing else is looked at |
//! | `LISTEN_EMBEDDED_SYSTEM=never` | leaves the machine's own programs aside (to try the fetched ones) |
//! | `LISTEN_EMBEDDED_FETCH=never` | forbids fetching programs; those fetched before are still used |

mod choose;
mod error;
mod fetch;
mod home;
mod initdb;
mod join;
mod owner;
mod package;
mod places;
mod programs;
mod reaper;
mod running;
mod server;
mod stale;

use std::path::{Path, PathBuf};
use std::time::Duration;

pub use error::{Error, FetchError};
pub use programs::OLDEST_MAJOR;
pub use running::Running;

use places::Places;

/// A private PostgreSQL, as wanted.
#[derive(Debug, Clone)]
pub struct Cluster {
    /// Where its data, socket, lock and log are; made (mode 0700) where absent. See [`default_dir`].
    pub dir: PathBuf,
    /// Whether a commit must outlive a power cut. `false` is for tests: it turns `fsync`,
    /// `synchronous_commit` and `full_page_writes` off, and lets a damaged cluster be made anew.
    pub durable: bool,
    /// How long the server stays once its last client has left, to a quarter of a second. Where a
    /// server already runs, the linger of the process that started it holds.
    pub linger: Duration,
}

impl Cluster {
    /// Joins the server of this cluster, or makes and starts it first; 10 ms to join, about a second
    /// for a new cluster. The server stays at least as long as the answer is held.
    ///
    /// What takes long or surprises (fetching programs) is announced on stderr;
    /// [`Cluster::ensure_with`] lets the caller say it in another way.
    ///
    /// # Errors
    /// Every error names what to do next; see [`Error`].
    pub async fn ensure(&self) -> Result<Running, Error> {
        self.ensure_with(|line| eprintln!("{line}")).await
    }

    /// As [`Cluster::ensure`], with announcements (one line each, without newline) given to `notice`.
    ///
    /// # Errors
    /// As [`Cluster::ensure`].
    pub async fn ensure_with(&self, notice: fn(&str)) -> Result<Running, Error> {
        server::ensure(self, &Places::from_env(), notice).await
    }
}

/// Where a person's cluster belongs: `/var/lib/<app>` for root (whose server runs as another user,
/// which could not enter root's home), else `$XDG_DATA_HOME/<app>` or `~/.local/share/<app>`.
///
/// # Errors
/// [`Error::NoHome`] where neither `XDG_DATA_HOME` nor `HOME` is an absolute path.
pub fn default_dir(app: &str) -> Result<PathBuf, Error> {
    if rustix::process::geteuid().is_root() {
        return Ok(Path::new("/var/lib").join(app));
    }
    let places = Places::from_env();
    places.data_home.map(|home| home.join(app)).ok_or(Error::NoHome)
}

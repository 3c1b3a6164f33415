//! What can go wrong, and what to do then.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

/// Why there is no private PostgreSQL. Each message ends with a next step.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Neither `XDG_DATA_HOME` nor `HOME` says where a person's data belongs.
    #[error("neither XDG_DATA_HOME nor HOME is set to an absolute path: set one of them, or DATABASE_URL")]
    NoHome,
    /// Root cannot run PostgreSQL, and there is no other user to run it as.
    #[error(
        "PostgreSQL refuses to run as root, and /etc/passwd has neither a user `postgres` nor `nobody`: \
         run this as another user, or set DATABASE_URL"
    )]
    NoUser,
    /// A symbolic link where a directory of our own was expected.
    #[error("{} is not a plain directory (links are refused, others may have placed them): remove it", .0.display())]
    NotADirectory(PathBuf),
    /// The directory belongs to another user.
    #[error("{} belongs to user id {owner}, not to {expected}: choose another directory, or change its owner", .path.display())]
    ForeignOwner {
        /// The directory.
        path: PathBuf,
        /// Its owner's user id.
        owner: u32,
        /// Name of the user who should own it.
        expected: String,
    },
    /// The user the server runs as cannot reach the directory.
    #[error(
        "user {user}, as whom PostgreSQL runs, cannot enter {}: choose a directory it can reach",
        .path.display()
    )]
    Unreachable {
        /// The ancestor that cannot be entered.
        path: PathBuf,
        /// The user's name.
        user: String,
    },
    /// The file system refused something.
    #[error("cannot {action} {}: {source}", .path.display())]
    Io {
        /// What was tried, as a verb.
        action: &'static str,
        /// On which file or directory.
        path: PathBuf,
        /// What the system answered.
        source: io::Error,
    },
    /// `PG_BIN_DIR` does not hold what it promises.
    #[error(
        "PG_BIN_DIR is {}, but there are no working `postgres` and `initdb` of version {minimum} or later in it: \
         correct or unset it",
        .path.display()
    )]
    BadBinDir {
        /// What `PG_BIN_DIR` says.
        path: PathBuf,
        /// The oldest major version accepted.
        minimum: u32,
    },
    /// No server programs on this machine, and none could be fetched.
    #[error("no PostgreSQL server programs were found, and none were fetched: {0}\n{ways}", ways = WAYS_OUT)]
    NoPrograms(#[source] FetchError),
    /// `initdb` failed.
    #[error("initdb ended with {status}; its words are at the end of {}", .log.display())]
    Initdb {
        /// How it ended.
        status: ExitStatus,
        /// The server's log, which has its output too.
        log: PathBuf,
    },
    /// The server ended before it accepted a connection.
    #[error("PostgreSQL ended while starting, with {status}; the reason is at the end of {}", .log.display())]
    Start {
        /// How it ended.
        status: ExitStatus,
        /// The server's log.
        log: PathBuf,
    },
    /// The server did not accept connections in time.
    #[error("PostgreSQL did not become ready within {seconds} s; see {}", .log.display())]
    Timeout {
        /// How long it was waited for.
        seconds: u64,
        /// The server's log.
        log: PathBuf,
    },
    /// The server has no connection left (SQLSTATE 53300).
    #[error(
        "the PostgreSQL in {} has all its connections in use: stop some of the processes that use it, \
         or give them smaller pools", .0.display()
    )]
    Full(PathBuf),
    /// A durable cluster was asked for, but the server that runs there was started without `fsync`.
    #[error(
        "the PostgreSQL in {} runs without fsync (started by a test?): use another directory, or wait until it stops",
        .0.display()
    )]
    NotDurable(PathBuf),
    /// The server answered, but not as a private server would.
    #[error("the PostgreSQL in {} refused the connection; see server.log there", .dir.display())]
    Database {
        /// The cluster's directory.
        dir: PathBuf,
        /// What it answered.
        source: sqlx::Error,
    },
}

impl Error {
    /// For `map_err`: the file system refused `action` on `path`.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { action, path, source }
    }
}

const WAYS_OUT: &str = "Any one of these helps:
  - DATABASE_URL=postgresql://…      use a PostgreSQL you already have (not `demo`, which brings its own)
  - install the server programs:     Debian, Ubuntu: apt-get install postgresql
                                     Fedora, RHEL:   dnf install postgresql-server
                                     Alpine:         apk add postgresql
                                     macOS:          brew install postgresql@18
  - PG_BIN_DIR=/path/to/bin          where `postgres` and `initdb` are, if they are somewhere unusual";

/// Why server programs were not fetched.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// `LISTEN_EMBEDDED_FETCH=never`.
    #[error("LISTEN_EMBEDDED_FETCH=never forbids it")]
    Forbidden,
    /// There is no package for this machine.
    #[error("there is no package for this platform ({os}-{arch})")]
    NoPackage {
        /// The operating system, in Rust's words.
        os: &'static str,
        /// The processor, in Rust's words.
        arch: &'static str,
    },
    /// No directory to keep them in.
    #[error("neither XDG_CACHE_HOME nor HOME says where to keep them")]
    NoCache,
    /// A program that is needed for it is not there, or cannot be run.
    #[error("`{program}` could not be run: {source}")]
    NoProgram {
        /// The program's name.
        program: &'static str,
        /// What the system answered.
        source: io::Error,
    },
    /// A program that is needed for it failed.
    #[error("`{program}` ended with {status} (is the network reachable?)")]
    Failed {
        /// The program's name.
        program: &'static str,
        /// How it ended.
        status: ExitStatus,
    },
    /// It took too long.
    #[error("it took longer than {0} s")]
    Slow(u64),
    /// What came is not what was pinned.
    #[error("the checksum of what came is not the pinned one; it was thrown away")]
    Checksum,
    /// The package is not laid out as expected.
    #[error("the package is not laid out as expected: {0}")]
    Layout(&'static str),
    /// The programs do not run here (another C library, a missing library).
    #[error("the programs that were fetched do not run on this machine")]
    DoNotRun,
    /// The file system refused something.
    #[error(transparent)]
    Files(Box<Error>),
}

impl From<Error> for FetchError {
    fn from(error: Error) -> Self {
        Self::Files(Box::new(error))
    }
}

//! Joins a server that runs: connects, and takes the shared lock that keeps the reaper away.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{ConnectOptions, Connection};

use crate::home::Home;
use crate::reaper::{self, LOCKS, PRESENCE};
use crate::running::{Running, options_of};
use crate::{Cluster, Error};

/// A server that does not answer for this long is asked anew.
const PATIENCE: Duration = Duration::from_secs(5);

/// What an attempt came to.
pub(crate) enum Attempt {
    /// Joined.
    Joined(Box<Running>),
    /// A server is there, but is starting, stopping or slow: ask again.
    Busy,
    /// All connections are in use (SQLSTATE 53300).
    Full,
    /// No server listens.
    Absent,
}

/// Tries once. Only with the start lock held: two processes must not both find that there is no reaper.
pub(crate) async fn attempt(home: &Home, cluster: &Cluster) -> Result<Attempt, Error> {
    let options = options_of(home);
    let joining = tokio::time::timeout(PATIENCE, join(&options, cluster.linger));
    let joined = match joining.await {
        Err(_) => return Ok(Attempt::Busy),
        Ok(Err(error)) => return classify(home, error),
        Ok(Ok(None)) => return Ok(Attempt::Busy),
        Ok(Ok(Some(joined))) => joined,
    };
    if cluster.durable && !joined.fsync {
        return Err(Error::NotDurable(home.dir.clone()));
    }
    let data_dir = PathBuf::from(joined.data_dir);
    Ok(Attempt::Joined(Box::new(Running {
        _presence: joined.session,
        socket_dir: home.socket_dir.clone(),
        bin_dir: bin_dir(&data_dir),
        data_dir,
        version: joined.version,
    })))
}

struct Joined {
    session: PgConnection,
    version: String,
    data_dir: String,
    fsync: bool,
}

/// `None` where the reaper has the lock for itself, which means that the server is about to stop.
async fn join(options: &PgConnectOptions, linger: Duration) -> Result<Option<Joined>, sqlx::Error> {
    let mut session = options.connect().await?;
    let lock = sqlx::query_scalar("SELECT pg_try_advisory_lock_shared($1, $2)").bind(LOCKS).bind(PRESENCE);
    if !lock.fetch_one(&mut session).await? {
        session.close().await?;
        return Ok(None);
    }
    reaper::ensure(&mut session, options, linger).await?;
    let facts = sqlx::query_as(
        "SELECT current_setting('server_version'), current_setting('data_directory'), current_setting('fsync')::boolean",
    );
    let (version, data_dir, fsync) = facts.fetch_one(&mut session).await?;
    Ok(Some(Joined { session, version, data_dir, fsync }))
}

/// What an error says about the server.
fn classify(home: &Home, error: sqlx::Error) -> Result<Attempt, Error> {
    let state = error.as_database_error().and_then(|answer| answer.code());
    match (&error, state.as_deref()) {
        (_, Some("53300")) => Ok(Attempt::Full),
        // Stopping, stopped after a crash, not yet (or no longer) accepting connections.
        (_, Some("57P01" | "57P02" | "57P03")) => Ok(Attempt::Busy),
        (sqlx::Error::Io(cause), _) => match cause.kind() {
            ErrorKind::NotFound | ErrorKind::ConnectionRefused => Ok(Attempt::Absent),
            ErrorKind::PermissionDenied => Err(Error::Database { dir: home.dir.clone(), source: error }),
            _ => Ok(Attempt::Busy),
        },
        _ => Err(Error::Database { dir: home.dir.clone(), source: error }),
    }
}

/// Where the server's programs are, by the command line that it keeps in its data directory:
/// `/usr/lib/postgresql/15/bin/postgres "-D" …`.
fn bin_dir(data_dir: &Path) -> PathBuf {
    let line = std::fs::read_to_string(data_dir.join("postmaster.opts")).unwrap_or_default();
    let program = line.split(" \"").next().unwrap_or_default();
    Path::new(program).parent().map(Path::to_owned).unwrap_or_default()
}

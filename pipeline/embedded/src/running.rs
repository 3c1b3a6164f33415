//! A server that was joined.

use std::path::{Path, PathBuf};

use sqlx::postgres::{PgConnectOptions, PgConnection, PgSslMode};

use crate::home::{Home, PORT};

/// A server that accepts connections, and goes on doing so while this is held.
#[derive(Debug)]
pub struct Running {
    /// Its session holds the shared lock that the reaper must have for itself before it stops the
    /// server. Nothing is asked on it, so it outlives the runtime it was made on.
    pub(crate) _presence: PgConnection,
    pub(crate) socket_dir: PathBuf,
    pub(crate) data_dir: PathBuf,
    pub(crate) bin_dir: PathBuf,
    pub(crate) version: String,
}

impl Running {
    /// How to connect, as superuser `postgres` to database `postgres`. The server takes 200
    /// connections, 600 where it need not last; two of them (this one's, the reaper's) are not the caller's.
    pub fn options(&self) -> PgConnectOptions {
        options(&self.socket_dir)
    }

    /// The same as a URL, as sqlx understands it: `postgresql://postgres@localhost/postgres?host=…`.
    pub fn url(&self) -> String {
        self.url_of("postgres")
    }

    /// The URL of another database of the server.
    pub fn url_of(&self, database: &str) -> String {
        let (database, host) = (percent(database), percent(&self.socket_dir.to_string_lossy()));
        format!("postgresql://postgres@localhost/{database}?host={host}")
    }

    /// The directory of the socket: `psql -h <it> -U postgres` connects.
    pub fn socket_dir(&self) -> &Path {
        &self.socket_dir
    }

    /// The data directory, such as `/var/lib/listen/data15`.
    pub fn data_dir(&self) -> &Path {
        &self.data_dir
    }

    /// Where the server's programs are.
    pub fn bin_dir(&self) -> &Path {
        &self.bin_dir
    }

    /// The server's version in its own words, such as `15.18 (Debian 15.18-0+deb12u1)`.
    pub fn version(&self) -> &str {
        &self.version
    }
}

pub(crate) fn options_of(home: &Home) -> PgConnectOptions {
    options(&home.socket_dir)
}

/// Everything that matters is said here, for sqlx fills what is not from `PGHOST`, `PGUSER`, ….
fn options(socket_dir: &Path) -> PgConnectOptions {
    PgConnectOptions::new_without_pgpass()
        .host("localhost")
        .socket(socket_dir)
        .port(PORT)
        .username("postgres")
        .database("postgres")
        .ssl_mode(PgSslMode::Disable)
}

/// Percent-encoding that leaves the unreserved characters of RFC 3986, and `/`.
fn percent(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                encoded.push(char::from(byte));
            }
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
mod tests {
    use std::str::FromStr;

    use super::*;

    #[test]
    fn database_url_escapes_the_directory() {
        let dir = "/tmp/a b&c=é%";
        let url = format!("postgresql://postgres@localhost/x?host={}", percent(dir));
        let parsed = PgConnectOptions::from_str(&url).unwrap();
        assert_eq!(parsed.get_socket().map(PathBuf::as_path), Some(Path::new(dir)));
        assert_eq!(parsed.get_database(), Some("x"));
    }
}

//! PostgreSQL servers of one test's own, on TCP: made anew, of another one as its standby, or of a backup.

use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, geteuid, kill_process_group};
use sqlx::{AssertSqlSafe, Connection, PgConnection};

use crate::process::until;

/// A server in a directory of its own; dropped, it is stopped and removed.
pub(crate) struct Server {
    bin: PathBuf,
    pub(crate) home: PathBuf,
    port: u16,
    lent: Option<(u32, u32)>,
}

impl Server {
    /// An empty one that archives its log, running.
    pub(crate) fn start(name: &str) -> Self {
        let server = Self::nowhere(name);
        server.run(
            "initdb",
            &["-D", &server.data(), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync"],
        );
        server.up();
        server
    }

    /// A standby of `primary` that finds it at `through` and calls itself `standby`, running.
    pub(crate) fn standby_of(primary: &Server, through: SocketAddr) -> Self {
        let server = Self::nowhere("standby");
        server.copy_of(primary, &["-X", "stream"]);
        let settings = format!(
            "primary_conninfo = 'host={} port={} user=postgres application_name=standby'\n\
             wal_retrieve_retry_interval = '100ms'\n",
            through.ip(),
            through.port()
        );
        server.configure(&settings, "standby.signal");
        server.up();
        server
    }

    /// A base backup of `primary`, to be recovered later.
    pub(crate) fn backup_of(primary: &Server) -> Self {
        let server = Self::nowhere("restored");
        server.copy_of(primary, &["-X", "none"]);
        server
    }

    /// Recovers the backup as far as the named point, from the log that `archive` holds.
    pub(crate) async fn recover_to(&self, point: &str, archive: &Path) {
        let settings = format!(
            "restore_command = 'cp {}/%f %p'\nrecovery_target_name = '{point}'\nrecovery_target_action = 'promote'\n",
            archive.display()
        );
        self.configure(&settings, "recovery.signal");
        self.up();
        until(async || self.number("select (not pg_is_in_recovery())::int::bigint").await == 1).await;
    }

    /// Where its log is archived.
    pub(crate) fn archive(&self) -> PathBuf {
        self.home.join("archive")
    }

    pub(crate) fn addr(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.port))
    }

    /// For `DATABASE_URL`.
    pub(crate) fn url(&self) -> String {
        url(self.addr())
    }

    pub(crate) async fn session(&self) -> PgConnection {
        PgConnection::connect(&self.url()).await.expect("the server takes a session")
    }

    /// Runs statements, one transaction each.
    pub(crate) async fn sql(&self, statements: &[&str]) {
        let mut session = self.session().await;
        for statement in statements {
            let ran = sqlx::raw_sql(AssertSqlSafe((*statement).to_owned())).execute(&mut session).await;
            ran.unwrap_or_else(|error| panic!("{statement}: {error}"));
        }
    }

    /// One number.
    pub(crate) async fn number(&self, query: &str) -> i64 {
        let mut session = self.session().await;
        let number = sqlx::query_scalar(AssertSqlSafe(query.to_owned())).fetch_one(&mut session).await;
        number.unwrap_or_else(|error| panic!("{query}: {error}"))
    }

    /// The standby becomes the primary.
    pub(crate) fn promote(&self) {
        self.run("pg_ctl", &["-D", &self.data(), "-w", "promote"]);
    }

    /// Ends as the server of a machine that lost its power: every process of it, at once.
    pub(crate) fn kill(&self) {
        let written = fs::read_to_string(self.home.join("data/postmaster.pid")).expect("it runs");
        let pid = written.lines().next().and_then(|line| line.parse().ok()).and_then(Pid::from_raw);
        kill_process_group(pid.expect("a number"), Signal::KILL).expect("it can be killed");
    }

    /// Runs one of the programs that come with the server, and expects it to succeed.
    pub(crate) fn run(&self, program: &str, words: &[&str]) {
        let ended = self.command(program, words).output().expect("a server program can be run");
        let said = String::from_utf8_lossy(&ended.stderr);
        assert!(ended.status.success(), "{program} {words:?} ended with {}: {said}", ended.status);
    }

    fn nowhere(name: &str) -> Self {
        let home = testbed::empty_directory(name);
        let lent = geteuid().is_root().then(lent_user);
        fs::create_dir_all(home.join("archive")).expect("a directory can be made");
        if let Some((uid, gid)) = lent {
            for place in [&home, &home.join("archive")] {
                std::os::unix::fs::chown(place, Some(uid), Some(gid)).expect("root may give it away");
            }
        }
        let free = TcpListener::bind(("127.0.0.1", 0)).expect("a port is free");
        let port = free.local_addr().expect("it has an address").port();
        Self { bin: programs(), home, port, lent }
    }

    fn copy_of(&self, primary: &Server, words: &[&str]) {
        let (data, port) = (self.data(), primary.port.to_string());
        let from = ["-h", "127.0.0.1", "-p", &port, "-U", "postgres", "-D", &data, "-c", "fast", "--no-sync"];
        self.run("pg_basebackup", &[&from[..], words].concat());
    }

    fn configure(&self, settings: &str, signal: &str) {
        let data = self.home.join("data");
        let path = data.join("postgresql.auto.conf");
        let before = fs::read_to_string(&path).expect("there are settings");
        fs::write(&path, format!("{before}{settings}")).expect("settings can be written");
        fs::write(data.join(signal), "").expect("the signal can be given");
        if let Some((uid, gid)) = self.lent {
            std::os::unix::fs::chown(data.join(signal), Some(uid), Some(gid)).expect("root may give it away");
        }
    }

    fn up(&self) {
        let archive = format!("cp %p {}/%f", self.archive().display());
        // A killed process loses nothing that the operating system was handed: disks are not what is tested.
        let settings = format!(
            "-c listen_addresses=127.0.0.1 -c port={} -k {} -c fsync=off -c archive_mode=on -c archive_command='{archive}'",
            self.port,
            self.home.display()
        );
        let log = self.home.join("server.log").display().to_string();
        self.run("pg_ctl", &["-D", &self.data(), "-w", "-t", "60", "-l", &log, "-o", &settings, "start"]);
    }

    fn data(&self) -> String {
        self.home.join("data").display().to_string()
    }

    fn command(&self, program: &str, words: &[&str]) -> Command {
        let mut command = Command::new(self.bin.join(program));
        command.args(words).current_dir("/").env_clear().env("LC_ALL", "C").env("PATH", "/usr/bin:/bin");
        command.stdin(Stdio::null()).stdout(Stdio::null());
        if program == "pg_ctl" {
            // The server inherits it, and would hold a pipe open.
            command.stderr(Stdio::null());
        }
        if let Some((uid, gid)) = self.lent {
            command.uid(uid).gid(gid);
        }
        command
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _best_effort = self.command("pg_ctl", &["-D", &self.data(), "-m", "immediate", "stop"]).output();
        let _best_effort = fs::remove_dir_all(&self.home);
    }
}

/// For `DATABASE_URL`, wherever the server is behind that address.
pub(crate) fn url(addr: SocketAddr) -> String {
    format!("postgresql://postgres@{addr}/postgres?sslmode=disable")
}

/// Waits until the standby of `primary` confirms what is committed, or merely follows it.
pub(crate) async fn until_followed(primary: &Server, state: &str) {
    let query = format!(
        "select count(*) from pg_stat_replication where application_name = 'standby' and state = 'streaming' \
         and sync_state = '{state}'"
    );
    let followed = until(async || primary.number(&query).await == 1);
    tokio::time::timeout(Duration::from_secs(30), followed).await.expect("the standby follows");
}

/// `PG_BIN_DIR`, else the newest of the usual places.
fn programs() -> PathBuf {
    if let Some(named) = std::env::var_os("PG_BIN_DIR") {
        return PathBuf::from(named);
    }
    let places = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut found: Vec<(u32, PathBuf)> = places
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path().join("bin"))))
        .filter(|(_, bin)| bin.join("postgres").exists())
        .collect();
    found.sort();
    found.pop().expect("no PostgreSQL server programs: install postgresql, or set PG_BIN_DIR").1
}

/// PostgreSQL refuses root: the user it runs as then.
fn lent_user() -> (u32, u32) {
    let users = fs::read_to_string("/etc/passwd").expect("there is a list of users");
    let of = |name: &str| {
        let line = users.lines().find(|line| line.starts_with(&format!("{name}:")))?;
        let mut fields = line.split(':').skip(2);
        Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
    };
    of("postgres").or_else(|| of("nobody")).expect("root has a user to run PostgreSQL as")
}

//! PostgreSQL servers of one test's own, on TCP: made anew, of another one as its standby, or of a backup.

use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use sqlx::{AssertSqlSafe, Connection, PgConnection};

use crate::process::until;
use crate::server_programs::ServerPrograms;

/// A server in a directory of its own; dropped, it is stopped and removed.
pub(crate) struct Server {
    programs: ServerPrograms,
    pub(crate) home: PathBuf,
    port: u16,
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
        let mut command = self.programs.command(program, words);
        if program != "pg_ctl" {
            // The server would inherit it, and hold the pipe open.
            command.stderr(Stdio::piped());
        }
        let ended = command.output().expect("a server program can be run");
        let said = String::from_utf8_lossy(&ended.stderr);
        assert!(ended.status.success(), "{program} {words:?} ended with {}: {said}", ended.status);
    }

    fn nowhere(name: &str) -> Self {
        let home = testbed::empty_directory(name);
        fs::create_dir_all(home.join("archive")).expect("a directory can be made");
        let programs = ServerPrograms::find();
        programs.give(&home);
        programs.give(&home.join("archive"));
        let free = TcpListener::bind(("127.0.0.1", 0)).expect("a port is free");
        let port = free.local_addr().expect("it has an address").port();
        Self { programs, home, port }
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
        self.programs.give(&data.join(signal));
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
}

impl Drop for Server {
    fn drop(&mut self) {
        let _best_effort =
            self.programs.command("pg_ctl", &["-D", &self.data(), "-m", "immediate", "stop"]).output();
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

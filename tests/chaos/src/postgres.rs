//! A durable PostgreSQL of the kit's own, made of the machine's server programs, that can be stopped in every way.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use parking_lot::Mutex;
use sqlx::PgPool;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};

use crate::server_programs::ServerPrograms;

mod failover;

/// Few enough to be eaten by a fault, enough for three processes.
const CONNECTIONS: u32 = 90;

/// The server, its data and its sockets. Dropped, it is stopped, and its directory removed unless it is kept.
#[derive(Debug)]
pub(crate) struct Postgres {
    programs: ServerPrograms,
    home: PathBuf,
    /// The directory of the server that is the primary now, within the home.
    primary: Mutex<String>,
    kept: bool,
}

impl Postgres {
    /// Makes a cluster and starts it.
    ///
    /// # Panics
    /// Without server programs, or when root has no user to run them as.
    pub(crate) async fn new(keep: Option<&Path>) -> Self {
        let home = keep.map_or_else(fresh_home, Path::to_owned);
        fs::create_dir_all(home.join("socket")).expect("the kit's directory can be made");
        let programs = ServerPrograms::find();
        programs.give(&home);
        programs.give(&home.join("socket"));
        let primary = Mutex::new("data".to_owned());
        let server = Self { programs, home, primary, kept: keep.is_some() };
        let data = server.data();
        server
            .run("initdb", &["-D", &data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync"])
            .await;
        server.start().await;
        server
    }

    /// Where everything of the run is.
    pub(crate) fn home(&self) -> &Path {
        &self.home
    }

    /// For `DATABASE_URL`; `who` is what the history calls the writer.
    pub(crate) fn url(&self, who: &str) -> String {
        let socket = self.home.join("socket");
        format!("postgresql://postgres@localhost/postgres?host={}&application_name={who}", socket.display())
    }

    /// A pool of the kit.
    pub(crate) fn pool(&self, max: u32) -> PgPool {
        let options = PgConnectOptions::new()
            .host(&self.home.join("socket").to_string_lossy())
            .username("postgres")
            .database("postgres")
            .application_name("kit");
        let pool = PgPoolOptions::new().max_connections(max).acquire_timeout(Duration::from_secs(5));
        pool.connect_lazy_with(options)
    }

    /// Starts the server and waits until it takes connections.
    pub(crate) async fn start(&self) {
        self.start_in(&self.data(), "socket").await;
    }

    /// Starts the server that has its data in `data` and listens in the folder `socket` of the home.
    async fn start_in(&self, data: &str, socket: &str) {
        let log = self.home.join("server.log").display().to_string();
        let socket = self.home.join(socket);
        let settings = format!(
            "-c listen_addresses= -k {} -c max_connections={CONNECTIONS} -c fsync=on -c synchronous_commit=on \
             -c full_page_writes=on -c log_error_verbosity=terse -c log_min_error_statement=panic -c timezone=UTC",
            socket.display()
        );
        self.run("pg_ctl", &["-D", data, "-w", "-t", "60", "-l", &log, "-o", &settings, "start"]).await;
    }

    /// Stops it: `fast` rolls sessions back, `immediate` is a crash, with recovery at the next start.
    pub(crate) async fn stop(&self, mode: &str) {
        self.run("pg_ctl", &["-D", &self.data(), "-w", "-t", "60", "-m", mode, "stop"]).await;
    }

    fn data(&self) -> String {
        let primary = self.primary.lock();
        self.home.join(&*primary).display().to_string()
    }

    async fn run(&self, program: &str, words: &[&str]) {
        let mut command = tokio::process::Command::from(self.command(program, words));
        let ended = command.status().await.expect("a server program can be run");
        assert!(ended.success(), "{program} {words:?} ended with {ended}");
    }

    fn command(&self, program: &str, words: &[&str]) -> Command {
        let mut command = self.programs.command(program, words);
        command.process_group(0);
        command
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        let _best_effort = self.command("pg_ctl", &["-D", &self.data(), "-m", "immediate", "stop"]).status();
        if !self.kept {
            let _best_effort = fs::remove_dir_all(&self.home);
        }
    }
}

fn fresh_home() -> PathBuf {
    let home = std::env::temp_dir().join(format!("listen-chaos-{}", std::process::id()));
    // A process of that number may have been killed here before.
    let _none_there = fs::remove_dir_all(&home);
    home
}

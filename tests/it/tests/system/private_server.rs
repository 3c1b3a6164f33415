//! A PostgreSQL server of one test, which may restart it. The shared server of the other tests must stay up.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::binary::printed;
use crate::server_programs::ServerPrograms;

/// A server in a temporary directory; dropped, it is stopped and removed.
pub(crate) struct PrivateServer {
    programs: ServerPrograms,
    home: PathBuf,
    /// Whose data its own began as.
    copied: Option<Arc<PrivateServer>>,
}

impl PrivateServer {
    /// Makes one and starts it. What it committed outlives it, and not a power cut.
    pub(crate) fn start() -> Self {
        let mut server = Self::without_data();
        let unused = Self::unused();
        server.run("/bin/cp", &["-R", &unused.data(), &server.data()]);
        server.copied = Some(unused);
        server.up();
        server
    }

    /// The data of a server that was never started, made once for those that are there at a time.
    fn unused() -> Arc<Self> {
        static UNUSED: Mutex<Weak<PrivateServer>> = Mutex::new(Weak::new());
        let mut unused = UNUSED.lock().unwrap_or_else(PoisonError::into_inner);
        unused.upgrade().unwrap_or_else(|| {
            let server = Arc::new(Self::without_data());
            let words = ["-D", &server.data(), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync"];
            server.run("initdb", &words);
            *unused = Arc::downgrade(&server);
            server
        })
    }

    fn without_data() -> Self {
        let home = testbed::empty_directory("own-server");
        let programs = ServerPrograms::find();
        programs.give(&home);
        Self { programs, home, copied: None }
    }

    /// A migrated database with the person `u1`: her key.
    pub(crate) fn with_a_person(&self) -> String {
        printed(&self.url(), &["migrate"]);
        self.with("u1")
    }

    /// One more person: her key.
    pub(crate) fn with(&self, user: &str) -> String {
        printed(&self.url(), &["users", "create", "--id", user]);
        printed(&self.url(), &["keys", "create", "--user", user])
    }

    pub(crate) fn url(&self) -> String {
        format!("postgresql://postgres@localhost/postgres?host={}", self.home.display())
    }

    /// Crashes it, and starts it again: it recovers from its log.
    pub(crate) fn crash_and_recover(&self) {
        self.down("immediate");
        self.up();
    }

    /// Stops it: `fast` rolls sessions back, `immediate` is a crash.
    pub(crate) fn down(&self, mode: &str) {
        self.run("pg_ctl", &["-D", &self.data(), "-w", "-m", mode, "stop"]);
    }

    /// Starts it, and waits until it takes connections.
    pub(crate) fn up(&self) {
        let settings = format!("-c listen_addresses= -c fsync=off -k {}", self.home.display());
        let log = self.home.join("server.log").display().to_string();
        self.run("pg_ctl", &["-D", &self.data(), "-w", "-l", &log, "-o", &settings, "start"]);
    }

    fn data(&self) -> String {
        self.home.join("data").display().to_string()
    }

    fn run(&self, program: &str, words: &[&str]) {
        let ended = self.programs.command(program, words).status().expect("a server program can be run");
        assert!(ended.success(), "{program} {words:?} ended with {ended}");
    }
}

impl Drop for PrivateServer {
    fn drop(&mut self) {
        let _best_effort =
            self.programs.command("pg_ctl", &["-D", &self.data(), "-m", "immediate", "stop"]).status();
        let _best_effort = std::fs::remove_dir_all(&self.home);
    }
}

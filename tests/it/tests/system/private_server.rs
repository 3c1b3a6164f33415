//! A PostgreSQL server of one test, which may restart it. The shared server of the other tests must stay up.

use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use rustix::process::geteuid;

use crate::binary::printed;

/// A server in a temporary directory; dropped, it is stopped and removed.
pub(crate) struct PrivateServer {
    bin: PathBuf,
    home: PathBuf,
    lent: Option<(u32, u32)>,
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
        let lent = geteuid().is_root().then(lent_user);
        if let Some((uid, gid)) = lent {
            std::os::unix::fs::chown(&home, Some(uid), Some(gid)).expect("root may give it away");
        }
        Self { bin: programs(), home, lent, copied: None }
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
        let ended = self.command(program, words).status().expect("a server program can be run");
        assert!(ended.success(), "{program} {words:?} ended with {ended}");
    }

    fn command(&self, program: &str, words: &[&str]) -> Command {
        let mut command = Command::new(self.bin.join(program));
        command.args(words).current_dir("/").env_clear().env("LC_ALL", "C").env("PATH", "/usr/bin:/bin");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        if let Some((uid, gid)) = self.lent {
            command.uid(uid).gid(gid);
        }
        command
    }
}

impl Drop for PrivateServer {
    fn drop(&mut self) {
        let _best_effort = self.command("pg_ctl", &["-D", &self.data(), "-m", "immediate", "stop"]).status();
        let _best_effort = std::fs::remove_dir_all(&self.home);
    }
}

/// `PG_BIN_DIR`, else the newest of the usual places.
fn programs() -> PathBuf {
    if let Some(named) = std::env::var_os("PG_BIN_DIR") {
        return PathBuf::from(named);
    }
    let places = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut found: Vec<(u32, PathBuf)> = places
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path().join("bin"))))
        .filter(|(_, bin)| bin.join("postgres").exists())
        .collect();
    found.sort();
    found.pop().expect("no PostgreSQL server programs: install postgresql, or set PG_BIN_DIR").1
}

/// PostgreSQL refuses root: the user it runs as then.
fn lent_user() -> (u32, u32) {
    let users = std::fs::read_to_string("/etc/passwd").expect("there is a list of users");
    let of = |name: &str| {
        let line = users.lines().find(|line| line.starts_with(&format!("{name}:")))?;
        let mut fields = line.split(':').skip(2);
        Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
    };
    of("postgres").or_else(|| of("nobody")).expect("root has a user to run PostgreSQL as")
}

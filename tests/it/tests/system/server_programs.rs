//! The programs that come with PostgreSQL, and the user that they run as. The chaos kit includes this file, too.

use std::fs;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::process::geteuid;

/// The machine's own ones.
#[derive(Debug)]
pub(crate) struct ServerPrograms {
    bin: PathBuf,
    /// PostgreSQL refuses root: the user it runs as then.
    lent: Option<(u32, u32)>,
}

impl ServerPrograms {
    /// Those of `PG_BIN_DIR`, else the newest of the usual places.
    ///
    /// # Panics
    /// Without any, or when root has no user to run them as.
    pub(crate) fn find() -> Self {
        let bin = std::env::var_os("PG_BIN_DIR").map_or_else(newest, PathBuf::from);
        Self { bin, lent: geteuid().is_root().then(lent_user) }
    }

    /// A silent one that knows nothing of the environment.
    pub(crate) fn command(&self, program: &str, words: &[&str]) -> Command {
        let mut command = Command::new(self.bin.join(program));
        command.args(words).current_dir("/").env_clear().env("LC_ALL", "C").env("PATH", "/usr/bin:/bin");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        if let Some((uid, gid)) = self.lent {
            command.uid(uid).gid(gid);
        }
        command
    }

    /// Gives a file or a directory to their user.
    pub(crate) fn give(&self, place: &Path) {
        if let Some((uid, gid)) = self.lent {
            chown(place, Some(uid), Some(gid)).expect("root may give it away");
        }
    }
}

fn newest() -> PathBuf {
    let places = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut found: Vec<(u32, PathBuf)> = places
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path().join("bin"))))
        .filter(|(_, bin)| bin.join("postgres").exists())
        .collect();
    found.sort();
    found.pop().expect("no PostgreSQL server programs: install postgresql, or set PG_BIN_DIR").1
}

fn lent_user() -> (u32, u32) {
    let users = fs::read_to_string("/etc/passwd").expect("there is a list of users");
    let of = |name: &str| {
        let line = users.lines().find(|line| line.starts_with(&format!("{name}:")))?;
        let mut fields = line.split(':').skip(2);
        Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
    };
    of("postgres").or_else(|| of("nobody")).expect("root has a user to run PostgreSQL as")
}

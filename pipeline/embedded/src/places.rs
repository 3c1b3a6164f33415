//! What the environment says about where to look; read once, so that tests can say otherwise.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Where programs may be found and kept, and what is forbidden.
#[derive(Debug, Clone, Default)]
pub(crate) struct Places {
    /// `PG_BIN_DIR`: the only place to look at, when set.
    pub(crate) bin_dir: Option<PathBuf>,
    /// `PATH`.
    pub(crate) path: Option<OsString>,
    /// Whether the machine's own programs may be used.
    pub(crate) system: bool,
    /// Whether programs may be fetched.
    pub(crate) fetch: bool,
    /// `$XDG_DATA_HOME`, else `~/.local/share`.
    pub(crate) data_home: Option<PathBuf>,
    /// Where fetched programs are kept: `/var/cache/listen` for root, whose server runs as another
    /// user; else `$XDG_CACHE_HOME/listen` or `~/.cache/listen`.
    pub(crate) cache: Option<PathBuf>,
}

impl Places {
    /// As this process's environment has it.
    pub(crate) fn from_env() -> Self {
        let cache = if rustix::process::geteuid().is_root() {
            Some(PathBuf::from("/var/cache"))
        } else {
            xdg("XDG_CACHE_HOME", ".cache")
        };
        Self {
            bin_dir: set("PG_BIN_DIR").map(PathBuf::from),
            path: env::var_os("PATH"),
            system: !is_never("LISTEN_EMBEDDED_SYSTEM"),
            fetch: !is_never("LISTEN_EMBEDDED_FETCH"),
            data_home: xdg("XDG_DATA_HOME", ".local/share"),
            cache: cache.map(|parent| parent.join("listen")),
        }
    }
}

/// The variable's value; an empty one counts as unset.
fn set(name: &str) -> Option<OsString> {
    env::var_os(name).filter(|value| !value.is_empty())
}

fn is_never(name: &str) -> bool {
    env::var(name).is_ok_and(|value| value.trim().eq_ignore_ascii_case("never"))
}

/// A base directory by the XDG rules: relative values are to be ignored.
fn xdg(name: &str, below_home: &str) -> Option<PathBuf> {
    let absolute = |value: OsString| Some(PathBuf::from(value)).filter(|path| path.is_absolute());
    let home = || set("HOME").and_then(absolute).map(|home| home.join(Path::new(below_home)));
    set(name).and_then(absolute).or_else(home)
}

//! Where the program under test is. The chaos kit includes this file, too.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

/// The program, brought up to date first: `cargo test` alone builds no programs of other packages.
/// `LISTEN_BINARY` names another one, for a binary that was built elsewhere.
pub(crate) fn path() -> &'static PathBuf {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(|| match std::env::var_os("LISTEN_BINARY") {
        Some(named) => PathBuf::from(named),
        None => built(),
    })
}

/// The program of the same profile: beside this program, or one folder up from a test or an example.
fn built() -> PathBuf {
    let this = std::env::current_exe().expect("this program has a path");
    let folder = this.parent().expect("a program lies in a folder");
    let is_below = folder.ends_with("deps") || folder.ends_with("examples");
    let profile = if is_below { folder.parent().unwrap_or(folder) } else { folder };
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--package", "listen", "--bin", "listen"]);
    cargo.current_dir(env!("CARGO_MANIFEST_DIR"));
    // What cargo tells this program of its own package would make build scripts run anew, and with them most of the build.
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            cargo.env_remove(&name);
        }
    }
    if let Some(target) = profile.parent() {
        cargo.env("CARGO_TARGET_DIR", target);
    }
    if profile.ends_with("release") {
        cargo.arg("--release");
    }
    assert!(cargo.status().expect("cargo can be run").success(), "the program could not be built");
    profile.join("listen")
}

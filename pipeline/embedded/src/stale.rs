//! Lock files that a server which was killed left behind.
//!
//! PostgreSQL removes them itself unless another process has got the number of the one they name, as
//! happens in containers, where numbers are small: then it refuses to start. It is better known here
//! what that process is.

use std::fs;
use std::path::{Path, PathBuf};

use tokio::process::Command;

use crate::Error;
use crate::home::Home;

/// Whether a server of this cluster is there, be it on its way up or down. Lock files that name
/// another process, or none, are removed.
pub(crate) async fn server_is_there(home: &Home) -> Result<bool, Error> {
    let of_data = home.majors().into_iter().map(|major| home.data(major).join("postmaster.pid"));
    let locks: Vec<PathBuf> = of_data.chain([home.socket_lock()]).collect();
    for lock in &locks {
        if let Some(process) = named_by(lock)
            && is_a_server_of(home, process).await
        {
            return Ok(true);
        }
    }
    for lock in locks.iter().filter(|lock| lock.exists()) {
        fs::remove_file(lock).map_err(Error::io("remove", lock))?;
    }
    Ok(false)
}

/// The process that a lock file names, in its first line.
fn named_by(lock: &Path) -> Option<u32> {
    fs::read_to_string(lock).ok()?.lines().next()?.trim().parse().ok()
}

/// Whether that process has a data directory of this cluster in its command line, as a server has.
async fn is_a_server_of(home: &Home, process: u32) -> bool {
    let line = command_line(process).await;
    let data = home.dir.join("data");
    line.windows(data.as_os_str().len()).any(|part| part == data.as_os_str().as_encoded_bytes())
}

/// A process's command line; empty where there is no such process, or only its remains.
async fn command_line(process: u32) -> Vec<u8> {
    if Path::new("/proc/self/cmdline").exists() {
        return fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    }
    let asked = Command::new("ps").args(["-ww", "-o", "args=", "-p", &process.to_string()]).output().await;
    asked.map(|answer| answer.stdout).unwrap_or_default()
}

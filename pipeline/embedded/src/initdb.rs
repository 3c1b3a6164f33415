//! Makes a cluster's files.

use std::fs::{self, File};
use std::process::Stdio;

use crate::Error;
use crate::home::{self, Home};
use crate::programs::Programs;

/// `--locale=C` alone would leave `lower`, `ILIKE` and text search blind to letters outside ASCII.
/// macOS has no C.UTF-8.
const CHARACTERS: &str =
    if cfg!(target_os = "macos") { "--lc-ctype=en_US.UTF-8" } else { "--lc-ctype=C.UTF-8" };

/// Makes the data directory for `programs`' version unless it is there. It is made under another name
/// and renamed when whole: an interrupted `initdb` leaves nothing that counts as a cluster.
pub(crate) async fn ensure(home: &Home, programs: &Programs, durable: bool) -> Result<(), Error> {
    let data = home.data(programs.major);
    if data.join("PG_VERSION").is_file() {
        return Ok(());
    }
    let half_made = home.dir.join("initdb.tmp");
    if half_made.exists() {
        fs::remove_dir_all(&half_made).map_err(Error::io("remove", &half_made))?;
    }
    let log = open_log(home)?;
    let mut command = home.owner.command(&programs.initdb());
    command.arg("-D").arg(&half_made).args([
        "-U",
        "postgres",
        "--auth=trust",
        "-E",
        "UTF8",
        "--locale=C",
        CHARACTERS,
    ]);
    if !durable {
        command.arg("--no-sync");
    }
    command
        .current_dir(&home.dir)
        .stdin(Stdio::null())
        .stderr(log.try_clone().map_err(Error::io("open", &home.log()))?);
    let ended = command.stdout(log).kill_on_drop(true).status().await;
    let status = ended.map_err(Error::io("run", &programs.initdb()))?;
    if !status.success() {
        return Err(Error::Initdb { status, log: home.log() });
    }
    fs::rename(&half_made, &data).map_err(Error::io("create", &data))?;
    if durable {
        let made = File::open(&home.dir).and_then(|directory| directory.sync_all());
        made.map_err(Error::io("write", &home.dir))?;
    }
    tracing::info!(data = %data.display(), version = programs.major, "a new PostgreSQL cluster was made");
    Ok(())
}

/// The log, for appending, readable by the user the server runs as.
pub(crate) fn open_log(home: &Home) -> Result<File, Error> {
    home::open(&home.log(), &home.owner, File::options().append(true))
}

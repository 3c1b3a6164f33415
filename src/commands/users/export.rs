//! `listen users export`: everything that is stored of a user, for the user.

use operations::Operations;
use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, BufWriter, ErrorKind, Write},
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::Context;
use clap::Args;
use records::UserId;
use serde_json::{Value, json};

use crate::commands::ids::no_such_user;
use crate::{
    commands::{consent::Cause, stdout::reply},
    exit::Exit,
    lifecycle::Interruption,
};

/// The user, the file, the operator and the reason.
#[derive(Args, Debug)]
pub(super) struct Export {
    /// Id of the user.
    pub(super) id: String,
    /// File to write, one JSON object per line; it must not exist.
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
    #[command(flatten)]
    cause: Cause,
}

/// Writes the file. It holds what the user said: only its owner may read it.
pub(super) async fn run(operations: &Operations, export: &Export, as_json: bool) -> anyhow::Result<ExitCode> {
    let user = UserId::new(export.id.as_str());
    if operations.store().user(&user).await?.is_none() {
        return Err(no_such_user(&user).into());
    }
    if export.output.as_os_str() == "-" {
        let words = "an export goes into a file that only you may read, and not to stdout: name one";
        return Err(Exit::Usage(words.to_owned()).into());
    }
    let path = export.output.display().to_string();
    let creating = || format!("creating {path}");
    if export.output.symlink_metadata().is_ok() {
        return Err(Exit::Usage(format!("{path} is there already: name a file that is not")).into());
    }
    // Half a file would be taken for a whole one: it has its name once it is whole, however the command ends.
    let mut name = export.output.file_name().with_context(creating)?.to_owned();
    name.push(".partial");
    let partial = export.output.with_file_name(name);
    let mut interruption = Interruption::listen().context("listening for signals")?;
    let file = create(&partial).with_context(creating)?;
    let written = tokio::select! {
        written = write(operations, export, &user, &file) => written,
        // What the user said does not stay behind in half a file.
        code = interruption.heard() => {
            let _ = fs::remove_file(&partial);
            return Ok(code);
        }
    };
    let named = match written {
        Ok(rows) => give_name(&partial, &export.output).map(|()| rows).with_context(creating),
        Err(error) => Err(error),
    };
    if named.is_err() {
        let _ = fs::remove_file(&partial);
    }
    let rows = named?;
    reply!(as_json, { "id": user.as_str(), "file": path, "rows": rows },
        "{rows} rows of {user} are in {path}")?;
    Ok(ExitCode::SUCCESS)
}

/// Answers how many rows were written.
async fn write(operations: &Operations, export: &Export, user: &UserId, file: &File) -> anyhow::Result<u64> {
    let mut file = BufWriter::new(file);
    if !operations.begin_export(user, &export.cause.action()).await? {
        return Err(no_such_user(user).into());
    }
    let mut rows = 0_u64;
    let written = operations.export_user(user, |table, row| {
        rows += 1;
        write_row(&mut file, table, &row)
    });
    let written = written.await?.and_then(|()| finish(file));
    written.with_context(|| format!("writing {}", export.output.display()))?;
    Ok(rows)
}

/// Creates the file that is not whole yet, in place of what an export left that was killed. One that still writes holds a lock
/// until it has named its file: of two, the second would put its beginning under the name of the first one's end.
fn create(partial: &Path) -> io::Result<File> {
    if let Ok(left) = File::open(partial) {
        lock(&left)?;
    }
    let _ = fs::remove_file(partial);
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(partial)?;
    lock(&file)?;
    // Another one may have taken it for left between the two lines above.
    match partial.symlink_metadata()?.ino() == file.metadata()?.ino() {
        true => Ok(file),
        false => Err(another_writes()),
    }
}

/// A file system without locks goes on without.
fn lock(file: &File) -> io::Result<()> {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(another_writes()),
        Ok(()) | Err(TryLockError::Error(_)) => Ok(()),
    }
}

fn another_writes() -> io::Error {
    io::Error::new(ErrorKind::ResourceBusy, "another export is writing it")
}

/// Names a whole file; one that came to be under that name meanwhile stays, where the file system knows hard links.
fn give_name(partial: &Path, name: &Path) -> io::Result<()> {
    match fs::hard_link(partial, name) {
        Ok(()) => fs::remove_file(partial),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(error),
        Err(_) => fs::rename(partial, name),
    }
}

fn write_row(file: &mut impl Write, table: &str, row: &Value) -> io::Result<()> {
    serde_json::to_writer(&mut *file, &json!({ "table": table, "row": row }))?;
    file.write_all(b"\n")
}

/// A file that is not on the disk was not exported.
fn finish(file: BufWriter<&File>) -> io::Result<()> {
    file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()
}

//! `listen users export`: everything that is stored of a user, for the user.

use operations::Operations;
use std::{
    fs::{File, OpenOptions},
    io::{self, BufWriter, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::Context;
use clap::Args;
use serde_json::{Value, json};

use super::nobody;
use crate::commands::{consent::Cause, ids, stdout::say, table::print_json};

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

/// Writes the file. It holds what the user said: only its owner may read it, and a part of it is not left behind.
///
/// # Errors
/// When the database does not answer, there is no such user, or the file cannot be written.
pub(super) async fn run(operations: &Operations, export: &Export, as_json: bool) -> anyhow::Result<ExitCode> {
    let user = ids::user(operations, &export.id).await?;
    if operations.store().user(&user).await?.is_none() {
        return Err(nobody(&user).into());
    }
    let path = export.output.display().to_string();
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&export.output);
    let mut file = BufWriter::new(file.with_context(|| format!("creating {path}"))?);
    let unfinished = Unfinished(&export.output);
    if !operations.begin_export(&user, &export.cause.action()).await? {
        return Err(nobody(&user).into());
    }
    let mut rows = 0_u64;
    let written = operations.export_user(&user, |table, row| {
        rows += 1;
        write_row(&mut file, table, &row)
    });
    written.await?.and_then(|()| finish(file)).with_context(|| format!("writing {path}"))?;
    unfinished.keep();
    match as_json {
        true => print_json(&json!({ "id": user.as_str(), "file": path, "rows": rows })),
        false => say!("{rows} rows of {user} are in {path}"),
    }?;
    Ok(ExitCode::SUCCESS)
}

/// A file that was begun: removed when dropped, as a part of what is stored of a user is of no use to anybody, and the command
/// could not be repeated.
struct Unfinished<'a>(&'a Path);

impl Unfinished<'_> {
    fn keep(self) {
        std::mem::forget(self);
    }
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_file(self.0) {
            anstream::eprintln!(
                "remove {} yourself, it holds a part of the export: {error}",
                self.0.display()
            );
        }
    }
}

fn write_row(file: &mut impl Write, table: &str, row: &Value) -> io::Result<()> {
    serde_json::to_writer(&mut *file, &json!({ "table": table, "row": row }))?;
    file.write_all(b"\n")
}

/// A file that is not on the disk was not exported.
fn finish(file: BufWriter<File>) -> io::Result<()> {
    file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()
}

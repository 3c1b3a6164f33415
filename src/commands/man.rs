//! `listen man`: manual pages, for packagers and for `man -l`.

use std::{path::PathBuf, process::ExitCode};

use anyhow::Context;
use clap::Args;

use super::stdout;

/// Print the manual page, or write one per command into a folder.
#[derive(Args, Debug)]
pub(crate) struct Man {
    /// Write one page per command into this folder: listen.1, listen-jobs.1, ….
    #[arg(long, value_name = "DIR")]
    into: Option<PathBuf>,
}

pub(crate) fn run(man: &Man, command: clap::Command) -> anyhow::Result<ExitCode> {
    match &man.into {
        Some(folder) => {
            std::fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
            clap_mangen::generate_to(command, folder)
                .with_context(|| format!("writing into {}", folder.display()))?;
        }
        None => {
            let mut text = Vec::new();
            clap_mangen::Man::new(command).render(&mut text).context("making the page")?;
            stdout::write(&text).context("writing the page")?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

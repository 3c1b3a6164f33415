//! Do the tests notice when a guard is missing? Every guard of the tables in `tests/guards/table/` is taken out of a copy
//! of the tree, one at a time, and the tests that are named for it must fail.
//!
//! `cargo run -p guards` tries all of them, `cargo run -p guards -- claim` those with `claim` in their names. It ends
//! with 1 when a guard could be taken out unnoticed. docs/RELIABILITY.md says what it found.

mod constant;
mod literal;
mod mutants;
mod reach;
mod run;
mod splice;
mod table;
mod tests;
mod tree;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;

use table::Guard;

/// What goes wrong ends the kit and is told to whoever runs it: words are enough.
type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Takes guards out of a copy of the tree, one at a time, and asks the tests whether they notice.
#[derive(Parser)]
struct Arguments {
    /// Only guards whose name, or whose file, contains one of these.
    names: Vec<String>,
    /// Says which guards there are, and runs nothing.
    #[arg(long)]
    list: bool,
    /// Sees whether the copy compiles in which all guards that one build serves can be switched off, and asks no test.
    #[arg(long)]
    check: bool,
    /// Builds the service with guards that can be switched off, and says where it is: for the chaos kit, which is asked whether
    /// it notices one.
    #[arg(long, conflicts_with_all = ["list", "check"])]
    service: bool,
    /// Asks only the first test program of each guard: quick, and may miss what a later one notices.
    #[arg(long)]
    quick: bool,
    #[command(flatten)]
    how: run::How,
    #[command(flatten)]
    which: mutants::Which,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    run_kit().await.unwrap_or_else(|error| {
        eprintln!("{error}");
        ExitCode::FAILURE
    })
}

async fn run_kit() -> Result<ExitCode> {
    let arguments = Arguments::parse();
    let root = workspace()?;
    let mut guards = table::read(&root.join("tests/guards/table"))?;
    match &arguments.which.mutants {
        Some(list) => guards = arguments.which.sampled(&root, list, &guards, &arguments.names)?,
        None => guards.retain(|guard| guard.is_asked_for(&arguments.names)),
    }
    if arguments.list {
        for guard in &guards {
            println!("{:44} {:44} {}", guard.name, guard.file, guard.tests.join(", "));
        }
        println!("{} guards", guards.len());
        return Ok(ExitCode::SUCCESS);
    }
    let guards =
        if arguments.quick { guards.into_iter().map(Guard::asking_the_first).collect() } else { guards };
    if arguments.check {
        return run::check(&root, &guards).await;
    }
    if arguments.service {
        return run::service(&root, &guards).await;
    }
    run::all(&root, &guards, &arguments.how).await
}

/// The folder of the workspace that this program was built from.
fn workspace() -> Result<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    Ok(here.ancestors().nth(2).ok_or("this crate stands in tests/guards")?.to_owned())
}

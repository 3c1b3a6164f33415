//! What is printed of the program itself. `listen docs`: the reference pages `docs/settings.md` and `docs/cli.md`, made from the
//! command line, and `docs/errors.md`, made from the closed list of error codes. `listen man` and `listen completions`, of the
//! command line, too. `listen openapi`: the document of the public interface.

use std::{path::PathBuf, process::ExitCode};

use anyhow::Context;
use clap::{Arg, Args, Command, ValueEnum};

use super::stdout;
use crate::{
    config::{is_setting, range},
    exit,
    terminal::GLOBAL,
};

/// Print a page of the reference manual, in Markdown.
#[derive(Args, Debug)]
pub(crate) struct Docs {
    /// Page to print.
    page: Page,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Page {
    Settings,
    Cli,
    Errors,
}

impl Page {
    fn text(self, command: Command) -> String {
        match self {
            Self::Settings => settings(&command),
            Self::Cli => cli(command),
            Self::Errors => api::error_codes(),
        }
    }
}

pub(crate) fn run(docs: &Docs, command: Command) -> anyhow::Result<ExitCode> {
    print(docs.page.text(command).as_bytes(), "writing the page")
}

fn print(text: &[u8], doing: &'static str) -> anyhow::Result<ExitCode> {
    stdout::write(text).context(doing)?;
    Ok(ExitCode::SUCCESS)
}

/// A shell's completions.
pub(crate) fn completions(shell: clap_complete::Shell, mut command: Command) -> anyhow::Result<ExitCode> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut command, "listen", &mut text);
    print(&text, "writing the completions")
}

/// As a service with default settings serves it.
pub(crate) fn openapi() -> anyhow::Result<ExitCode> {
    let document = api::document(&api::Settings::default());
    let text = serde_json::to_string_pretty(&document).context("making the document")?;
    print(format!("{text}\n").as_bytes(), "writing the document")
}

/// Print the manual page, or write one per command into a folder.
#[derive(Args, Debug)]
pub(crate) struct Man {
    /// Write one page per command into this folder: listen.1, listen-jobs.1, ….
    #[arg(long, value_name = "DIR")]
    into: Option<PathBuf>,
}

/// For packagers, and for `man -l`.
pub(crate) fn man(man: &Man, command: Command) -> anyhow::Result<ExitCode> {
    let Some(folder) = &man.into else {
        let mut text = Vec::new();
        clap_mangen::Man::new(command).render(&mut text).context("making the page")?;
        return print(&text, "writing the page");
    };
    std::fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
    clap_mangen::generate_to(command, folder)
        .with_context(|| format!("writing into {}", folder.display()))?;
    Ok(ExitCode::SUCCESS)
}

const MADE: &str =
    "<!-- Generated: `cargo run -q -- docs PAGE > docs/PAGE.md`. Edit the help texts in src/ instead. -->";

/// What is read from the environment only, before there is a command line to ask.
const ENVIRONMENT_ONLY: [(&str, &str); 4] = [
    ("LISTEN_EMBEDDED_FETCH", "`never`: do not fetch PostgreSQL's programs for `dev`, `demo` and tests"),
    ("LISTEN_EMBEDDED_SYSTEM", "`never`: do not use the machine's PostgreSQL programs"),
    ("PG_BIN_DIR", "The only directory to look for PostgreSQL's programs"),
    ("TEST_DATABASE_URL", "The server that tests use instead of a private one"),
];

fn settings(command: &Command) -> String {
    let mut page = format!(
        "# Settings\n\n{}\n\nA flag takes precedence over the environment, the environment over the file (`--config`, \
         TOML), the file over the\ndefault. The key in the file is the flag's name with `_` for `-`. An empty variable \
         counts as not set.\n`listen config` prints the effective values, secrets masked, and exits with 2 if they \
         cannot work.\n",
        MADE.replace("PAGE", "settings")
    );
    let serve = command.find_subcommand("serve").into_iter().flat_map(Command::get_arguments);
    let own = command.get_arguments().filter(|arg| arg.get_env().is_some());
    let mut heading = None;
    for arg in serve.chain(own).filter(|arg| arg.get_env().is_some() && !arg.is_hide_set()) {
        let here = arg.get_help_heading().filter(|heading| *heading != GLOBAL).unwrap_or("Logs and files");
        if heading != Some(here) {
            page.push_str(&format!(
                "\n## {here}\n\n| Environment | Flag | Default | Meaning |\n|---|---|---|---|\n"
            ));
            heading = Some(here);
        }
        page.push_str(&row(arg));
    }
    page.push_str("\n## Environment only\n\n| Environment | Meaning |\n|---|---|\n");
    for (name, words) in ENVIRONMENT_ONLY {
        page.push_str(&format!("| `{name}` | {words} |\n"));
    }
    page
}

fn row(arg: &Arg) -> String {
    let name = arg.get_env().unwrap_or_default().to_string_lossy();
    let flag = arg.get_long().unwrap_or_default();
    let default: Vec<_> = arg.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
    let default = if default.is_empty() { "none".to_owned() } else { format!("`{}`", default.join(",")) };
    let values = arg.get_possible_values();
    let names: Vec<_> = values.iter().map(|value| format!("`{}`", value.get_name())).collect();
    let values = if names.is_empty() { String::new() } else { format!(" ({})", names.join(", ")) };
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    let range = range(&name).map(|range| format!(" ({} to {})", range.start(), range.end()));
    format!(
        "| `{name}` | `--{flag}` | {default} | {}{values}{} |\n",
        help.replace('|', "\\|"),
        range.unwrap_or_default()
    )
}

fn cli(command: Command) -> String {
    let mut page = format!(
        "# The command line\n\n{}\n\n`serve`, `dev`, `demo` and `config` also take every setting of \
         [settings.md](settings.md) as a flag.\nCommands that read or change the database take `--database-url` and, for \
         one JSON document on stdout, `--json`; of a list it holds the cursor of the next page (`next`, for `--after`).\nAn id may \
         be shortened to a unique beginning or end of at least four characters, but that of a user only where something is\nshown: a change, an order, an export and a deletion want the whole one.\nCommands that change jobs, queues, replays or webhooks, and the deletion \
         or export of a user, take a `--reason`, which is recorded \
         with\nthe operator's name (`--operator`, else `USER`). Nothing that a user said is ever printed; `users export` writes \
         it into a file.\nA list on a terminal leaves out what finds no room and says so; a pipe gets all columns and whole ids.\n\n\
         ## Exit codes\n\n| Code | Meaning |\n|---|---|\n",
        MADE.replace("PAGE", "cli")
    );
    for (code, words) in exit::MEANINGS {
        page.push_str(&format!("| {code} | {words} |\n"));
    }
    let serve = command.clone();
    // Settings stand on a page of their own, and the present environment is no part of the manual.
    // An argument of a command's own, like `--apps` of a user, is no setting of that name.
    let hidden = |arg: &Arg| arg.get_env().is_some() && is_setting(&serve, arg.get_id().as_str());
    let mut command = shown(command.term_width(100), &hidden);
    command.build();
    describe(&command, "listen", &mut page);
    page
}

fn shown(command: Command, is_hidden: &dyn Fn(&Arg) -> bool) -> Command {
    let command = command.mut_args(|arg| {
        let hide = arg.is_hide_set() || is_hidden(&arg);
        arg.hide(hide).hide_env_values(true)
    });
    let names: Vec<String> = command.get_subcommands().map(|inner| inner.get_name().to_owned()).collect();
    names.into_iter().fold(command, |command, name| {
        command.mut_subcommand(name, |inner| shown(inner.term_width(100), is_hidden))
    })
}

fn describe(command: &Command, path: &str, page: &mut String) {
    let inner: Vec<&Command> = command.get_subcommands().filter(|inner| inner.get_name() != "help").collect();
    let help = command.clone().render_help().to_string();
    let help: String = help.lines().map(|line| format!("{}\n", line.trim_end())).collect();
    page.push_str(&format!("\n## {path}\n\n```text\n{}\n```\n", help.trim_end()));
    for command in inner {
        describe(command, &format!("{path} {}", command.get_name()), page);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::command;

    #[test]
    fn docs_pages_are_current() {
        let pages = [
            (Page::Settings, "settings", include_str!("../../docs/settings.md")),
            (Page::Cli, "cli", include_str!("../../docs/cli.md")),
            (Page::Errors, "errors", include_str!("../../docs/errors.md")),
        ];
        for (page, name, checked_in) in pages {
            assert!(
                page.text(command()) == checked_in,
                "docs/{name}.md is out of date: `cargo run -q -- docs {name} > docs/{name}.md`"
            );
        }
    }

    #[test]
    fn docs_show_no_default_or_example_of_a_secret() {
        let text = Page::Settings.text(command());
        for name in ["DATABASE_URL", "LISTEN_OPENAI_API_KEY", "LISTEN_VAPID_PRIVATE_KEY"] {
            let row = text.lines().find(|line| line.starts_with(&format!("| `{name}`"))).unwrap_or_default();
            assert!(row.contains("| none |"), "{name}: {row}");
        }
    }
}

//! Tables that fit the terminal, whole when piped, and one JSON document with `--json`.

mod layout;

use std::io::IsTerminal;

use anstyle::{AnsiColor, Reset};
use clap::Args;
use ledger::Shards;
use operations::Operations;
use records::{Timestamp, UserId};
use serde_json::{Value, json};

pub(crate) use self::layout::{Column, id, number, text, word};
use super::stdout::{escaped, plain, say};
use crate::commands::stderr::note;
use crate::{
    config::{self, shards::NO_COUNT},
    database::{self, is_there},
    exit::{Exit, of_shard},
    over_shards::Merged,
    terminal::{GLOBAL, hanging},
};

/// Options of every command that reads the database: its address, and the form of the output.
#[derive(Args, Clone, Debug)]
pub(crate) struct CommonArgs {
    /// Where PostgreSQL is.
    #[arg(
        long,
        env = "DATABASE_URL",
        hide_env_values = true,
        value_name = "URL",
        global = true,
        help_heading = GLOBAL,
        display_order = 900
    )]
    database_url: Option<String>,
    /// Over how many shards users are spread, as `serve` has it.
    #[arg(long, env = "LISTEN_SHARDS", hide = true, default_value_t = 1, value_name = "N", global = true)]
    shards: u16,
    /// Where the shards are, as `serve` has it.
    #[arg(
        long,
        env = "LISTEN_SHARD_URLS",
        hide = true,
        hide_env_values = true,
        value_name = "RANGES",
        global = true
    )]
    shard_urls: Option<String>,
    /// Use this shard only.
    #[arg(long, global = true, value_name = "NUMBER", help_heading = GLOBAL, display_order = 900)]
    shard: Option<u16>,
    /// The key under which secrets are stored, as `serve` has it.
    #[arg(
        long,
        env = "LISTEN_SECRETS_KEY",
        hide = true,
        hide_env_values = true,
        value_name = "KEY",
        global = true
    )]
    secrets_key: Option<String>,
    /// Print one JSON document.
    #[arg(long, global = true, help_heading = GLOBAL, display_order = 901)]
    pub(crate) json: bool,
}

impl CommonArgs {
    /// All shards, without asking them anything yet.
    pub(crate) fn shards(&self) -> anyhow::Result<Shards> {
        let secrets =
            config::secrets(self.secrets_key.as_deref()).map_err(|wrong| Exit::Usage(wrong.to_string()))?;
        let settings = ledger::Settings { connections: 4, secrets, ..ledger::Settings::default() };
        let (url, urls) = (self.database_url.as_deref(), self.shard_urls.as_deref());
        if !self.shards.is_power_of_two() || self.shards > 1_024 {
            return Err(Exit::Usage(NO_COUNT.to_owned()).into());
        }
        let (addresses, ignored) = database::shards(url, self.shards, urls)?;
        database::tell(&ignored);
        Ok(Shards::new(addresses, &settings))
    }

    /// The shards that a command goes through: all of them, or the one that `--shard` names.
    pub(crate) fn chosen(&self) -> anyhow::Result<Vec<Operations>> {
        self.chosen_of(&self.shards()?)
    }

    /// The same of `shards`, for a command that also needs all of them.
    pub(crate) fn chosen_of(&self, shards: &Shards) -> anyhow::Result<Vec<Operations>> {
        let Some(number) = self.shard else { return Ok(shards.iter().map(Operations::new).collect()) };
        let words =
            || Exit::Usage(format!("there is no shard {number}: LISTEN_SHARDS is {}", shards.count()));
        Ok(vec![Operations::new(shards.numbered(number).ok_or_else(words)?)])
    }

    /// The first of these ids that belongs to the shard of `--shard`, or to any where none is named, and its shard, once that
    /// has answered.
    pub(crate) async fn operations_of_user(
        &self,
        ids: impl Iterator<Item = UserId>,
    ) -> anyhow::Result<(UserId, Operations)> {
        let shards = self.shards()?;
        let chosen = self.chosen_of(&shards)?;
        let mut other = String::new();
        for id in ids {
            let shard = shards.of_user(&id).db().shard();
            match chosen.iter().find(|chosen| chosen.db().shard() == shard) {
                Some(own) => return Ok((id, there(own).await?)),
                None => {
                    other = format!("{id} is of shard {shard}, which follows from the id: leave out --shard")
                }
            }
        }
        Err(Exit::Usage(other).into())
    }

    /// Whether there is a key to store secrets under.
    pub(crate) fn has_secrets_key(&self) -> bool {
        self.secrets_key.is_some()
    }
}

/// A shard, once its server gave a session. An error says which shard it is of, where there are several.
pub(crate) async fn there(shard: &Operations) -> anyhow::Result<Operations> {
    is_there(shard).await.map_err(|error| of_shard(error, shard.db().shard()))?;
    Ok(shard.clone())
}

/// Prints rows under headings, fitted to the terminal; elsewhere, everything.
pub(crate) fn print(columns: &[Column], rows: Vec<Vec<String>>) -> anyhow::Result<()> {
    let width = std::io::stdout().is_terminal().then(textwrap::termwidth);
    let rows: Vec<Vec<String>> = rows.into_iter().map(|row| row.into_iter().map(plain).collect()).collect();
    let fitted = layout::fit(columns, &rows, width);
    for cells in fitted.lines {
        let cells: Vec<String> = cells.into_iter().map(colored).collect();
        say!("{}", layout::joined(&cells).trim_end())?;
    }
    if !fitted.left_out.is_empty() {
        let names = fitted.left_out.join(", ");
        let note = format!("no room for: {names}; a wider terminal, a pipe and --json show all");
        note!("{}", wrapped("", &note));
    }
    Ok(())
}

/// A status stands out on a terminal; elsewhere it is its word.
fn colored(cell: String) -> String {
    let color = match cell.trim() {
        "dead_letter" | "died_again" | "refused" => AnsiColor::Red,
        "blocked_byok" | "paused" | "failing" => AnsiColor::Yellow,
        "leased" | "running" => AnsiColor::Cyan,
        "completed" | "done" => AnsiColor::Green,
        _ => return cell,
    };
    format!("{}{cell}{Reset}", color.on_default())
}

/// Prints a line of a page about one object: label and value. On a terminal, what does not fit goes on below.
pub(crate) fn field(name: &str, value: &str) -> anyhow::Result<()> {
    say!("{}", wrapped(&format!("{name:<18} "), &plain(value)))
}

/// A text behind a label; on a terminal, its further lines stand below its first one.
pub(crate) fn wrapped(label: &str, text: &str) -> String {
    match std::io::stdout().is_terminal() {
        true => hanging(label, text, textwrap::termwidth()),
        false => format!("{label}{text}").trim_end().to_owned(),
    }
}

/// Prints one JSON document.
pub(crate) fn print_json(value: &Value) -> anyhow::Result<()> {
    say!("{}", escaped(format_args!("{value:#}")))
}

/// Prints a page of a list as one JSON document: its items under their name, and the cursor of the next page, which
/// `--after` takes; null on the last one.
pub(crate) fn print_page(name: &str, items: Vec<Value>, next: Option<&str>) -> anyhow::Result<()> {
    print_json(&json!({ name: items, "next": next }))
}

/// How a list is printed.
pub(crate) struct List<'a, T> {
    /// What its items are called in JSON.
    pub(crate) name: &'static str,
    /// The note for an empty list.
    pub(crate) none: &'a str,
    pub(crate) columns: &'static [Column],
    pub(crate) to_json: fn(&T) -> Value,
    /// The cells of an item, as it is seen at a moment.
    pub(crate) row: fn(&T, Timestamp) -> Vec<String>,
}

impl<T> List<'_, T> {
    /// Prints a page and the cursor of the next one. Fails afterwards where a shard did not answer.
    pub(crate) fn print(&self, found: &Merged<T>, next: Option<&str>, as_json: bool) -> anyhow::Result<()> {
        if as_json {
            print_page(self.name, found.rows.iter().map(self.to_json).collect(), next)?;
        } else if found.rows.is_empty() {
            note!("{}", self.none);
        } else {
            print(self.columns, found.rows.iter().map(|item| (self.row)(item, found.now)).collect())?;
            say_next(next);
        }
        found.complete()
    }
}

/// Says on stderr how to go on: stdout stays one list.
pub(crate) fn say_next(next: Option<&str>) {
    if let Some(next) = next {
        note!("more: --after {next}");
    }
}

/// Prints one JSON document in one line, for what goes on.
pub(crate) fn print_line(value: &Value) -> anyhow::Result<()> {
    say!("{}", escaped(value))
}

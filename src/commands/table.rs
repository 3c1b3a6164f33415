//! Tables on a terminal, plain text when piped, one JSON document with `--json`.

use clap::Args;
use comfy_table::{Cell, Color, ColumnConstraint, ContentArrangement, Table, presets};

use ledger::Ledger;

use super::stdout::{plain, say};
use crate::{config, database, exit::Exit};

/// Where the ledger is, and how to answer.
#[derive(Args, Clone, Debug)]
pub(crate) struct Asked {
    /// Where PostgreSQL is.
    #[arg(long, env = "DATABASE_URL", hide_env_values = true, value_name = "URL", global = true)]
    database_url: Option<String>,
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
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

impl Asked {
    /// The ledger of the database that was named.
    ///
    /// # Errors
    /// When no database is named, or what is named is no database's URL.
    pub(crate) fn ledger(&self) -> anyhow::Result<Ledger> {
        let secrets =
            config::secrets(self.secrets_key.as_deref()).map_err(|wrong| Exit::Usage(wrong.to_string()))?;
        let settings = ledger::Settings { connections: 4, secrets, ..ledger::Settings::default() };
        Ok(Ledger::new(database::options(self.database_url.as_deref())?, settings))
    }

    /// Whether there is a key to store secrets under.
    pub(crate) fn has_secrets_key(&self) -> bool {
        self.secrets_key.is_some()
    }
}

/// Headings of columns that hold ids, or words that are typed again.
const IDS: [&str; 8] = ["id", "job", "replay", "endpoint", "delivery", "key", "code", "on"];

/// Prints rows under headings, fitted to the terminal.
///
/// # Errors
/// When stdout cannot be written to.
pub(crate) fn print(headings: &[&str], rows: Vec<Vec<String>>) -> anyhow::Result<()> {
    say!("{}", table(headings, rows))
}

fn table(headings: &[&str], rows: Vec<Vec<String>>) -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_header(headings);
    // What is copied must stay in one piece: other columns give way.
    for (column, heading) in table.column_iter_mut().zip(headings) {
        if IDS.contains(heading) {
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
    }
    table.add_rows(rows.into_iter().map(|row| row.into_iter().map(cell).collect::<Vec<_>>()));
    table
}

/// Prints a line of a page about one object: label and value.
///
/// # Errors
/// When stdout cannot be written to.
pub(crate) fn field(name: &str, value: &str) -> anyhow::Result<()> {
    say!("{name:<18} {}", plain(value))
}

/// A status stands out on a terminal; elsewhere it is its word.
fn cell(text: String) -> Cell {
    let text = plain(&text);
    let color = match text.as_str() {
        "dead_letter" | "died_again" | "refused" => Some(Color::Red),
        "blocked_byok" | "paused" | "failing" => Some(Color::Yellow),
        "leased" | "running" => Some(Color::Cyan),
        "completed" | "done" => Some(Color::Green),
        _ => None,
    };
    let cell = Cell::new(text);
    color.map_or(cell.clone(), |color| cell.fg(color))
}

/// Prints one JSON document.
///
/// # Errors
/// When stdout cannot be written to.
pub(crate) fn print_json(value: &serde_json::Value) -> anyhow::Result<()> {
    say!("{value:#}")
}

/// Prints one JSON document in one line, for what goes on.
///
/// # Errors
/// When stdout cannot be written to.
pub(crate) fn print_line(value: &serde_json::Value) -> anyhow::Result<()> {
    say!("{value}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_stays_in_one_piece_on_a_narrow_terminal() {
        let id = "fj_0123456789abcdef0123456789abcdef";
        let words = "words that have to give way ".repeat(5);
        let mut table = table(&["job", "reason"], vec![vec![id.to_owned(), words]]);
        let shown = table.set_width(60).to_string();
        assert!(shown.contains(id), "{shown}");
        assert!(shown.lines().all(|line| line.chars().count() <= 60), "{shown}");
    }

    #[test]
    fn a_row_stays_a_row_whatever_a_name_holds() {
        let names = ["a\u{1b}[2Jb", "c\rd", "e\nf"].map(|name| vec![name.to_owned()]);
        let shown = table(&["name"], names.to_vec()).to_string();
        let lines: Vec<&str> = shown.lines().map(str::trim).collect();
        assert_eq!(lines, ["name", "a\u{fffd}[2Jb", "c\u{fffd}d", "e\u{fffd}f"]);
    }
}

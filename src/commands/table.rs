//! Tables on a terminal, plain text when piped, one JSON document with `--json`.

use clap::Args;
use comfy_table::{Cell, Color, ContentArrangement, Table, presets};

use ledger::Ledger;

/// Where the ledger is, and how to answer.
#[derive(Args, Clone, Debug)]
pub(crate) struct Asked {
    /// Where PostgreSQL is.
    #[arg(long, env = "DATABASE_URL", hide_env_values = true, value_name = "URL", global = true)]
    database_url: Option<String>,
    /// Print one JSON document.
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

impl Asked {
    /// The ledger of the database that was named. Bells are written: a replay rings in durable modes, and a bell
    /// that an `inline` process never takes does no harm, its job is found in the table.
    ///
    /// # Errors
    /// When no database is named, or what is named is no database's URL.
    pub(crate) fn ledger(&self) -> anyhow::Result<Ledger> {
        let settings = ledger::Settings { connections: 4, ..ledger::Settings::default() };
        Ok(Ledger::new(crate::wiring::database(self.database_url.as_deref())?, settings))
    }
}

/// Prints rows under headings, fitted to the terminal.
pub(crate) fn print(headings: &[&str], rows: Vec<Vec<String>>) {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_header(headings);
    table.add_rows(rows.into_iter().map(|row| row.into_iter().map(cell).collect::<Vec<_>>()));
    anstream::println!("{table}");
}

/// A status stands out on a terminal; elsewhere it is its word.
fn cell(text: String) -> Cell {
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
pub(crate) fn print_json(value: &serde_json::Value) {
    anstream::println!("{value:#}");
}

/// Prints one JSON document in one line, for what goes on.
pub(crate) fn print_line(value: &serde_json::Value) {
    anstream::println!("{value}");
}

//! Logs: human lines on a terminal, JSON otherwise; always on stderr, never a person's words.

use std::io::IsTerminal;

use anstyle::{AnsiColor, Reset, Style};
use clap::{Args, ValueEnum};
use tracing_subscriber::EnvFilter;

/// Red, where colours are wanted.
pub(crate) const RED: Style = AnsiColor::Red.on_default().bold();
/// Back to plain.
pub(crate) const PLAIN: Reset = Reset;

/// How to log.
#[derive(Args, Clone, Debug)]
pub(crate) struct Logs {
    /// What to log, as an env-filter: a level, or `target=level` pairs.
    /// Default: info; for the demo, whose page tells the story itself, error.
    #[arg(long = "log", env = "LISTEN_LOG", global = true, value_name = "FILTER")]
    filter: Option<String>,
    /// Human lines, or JSON; auto chooses by whether stderr is a terminal.
    #[arg(long = "log-format", env = "LISTEN_LOG_FORMAT", default_value = "auto", global = true)]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Auto,
    Human,
    Json,
}

/// Starts logging; a filter that does not parse is said and replaced by `info`.
pub(crate) fn start(logs: &Logs, default: &str) {
    let filter = EnvFilter::try_new(logs.filter.as_deref().unwrap_or(default)).unwrap_or_else(|_| {
        anstream::eprintln!("LISTEN_LOG is not a filter; logging at info");
        EnvFilter::new("info")
    });
    let terminal = std::io::stderr().is_terminal();
    let subscriber = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    match (logs.format, terminal) {
        (Format::Json, _) | (Format::Auto, false) => {
            subscriber.json().flatten_event(true).with_span_list(false).init()
        }
        (Format::Human | Format::Auto, _) => {
            subscriber.with_ansi(terminal).compact().with_target(false).init()
        }
    }
}

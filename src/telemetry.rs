//! Logs: human lines on a terminal, JSON otherwise; always on stderr, never a person's words.

use std::{io::IsTerminal, panic::PanicHookInfo};

use anyhow::Context;
use clap::{Args, ValueEnum};
use tokio::runtime::Handle;
use tracing_subscriber::{
    EnvFilter, Layer, fmt::writer::BoxMakeWriter, layer::SubscriberExt, util::SubscriberInitExt,
};

use crate::{
    database::NOTICES,
    log_writer::{FlushAtEnd, LogWriter},
    terminal::GLOBAL,
    traces::{Export, Shape, TraceSettings, WithTraceIds},
};

/// What no log shows, whatever is asked for: spans of traces, the lines of a file of passwords, and the messages of MCP, which hold
/// the words of users.
const NEVER: [(&str, &str); 5] = [
    (trace::TARGET, "off"),
    ("sqlx_postgres::options::pgpass", "off"),
    ("rmcp", "warn"),
    ("rmcp::service", "warn"),
    ("rmcp::transport::streamable_http_server::tower", "warn"),
];

/// The default log filter, except for the demo.
pub(crate) const DEFAULT_LOG: &str = "info";

/// How to log. The names are those of the settings in a file.
#[derive(Args, Clone, Debug)]
pub(crate) struct Logs {
    /// Log filter: a level, or `target=level` pairs.
    /// Default: info (demo: error).
    #[arg(
        long,
        env = "LISTEN_LOG",
        global = true,
        value_name = "FILTER",
        value_parser = filter,
        help_heading = GLOBAL,
        display_order = 903
    )]
    log: Option<String>,
    /// Log format; `auto` is lines on a terminal and JSON otherwise.
    #[arg(
        long,
        env = "LISTEN_LOG_FORMAT",
        default_value = "auto",
        global = true,
        value_name = "FORMAT",
        help_heading = GLOBAL,
        display_order = 904
    )]
    log_format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Auto,
    Human,
    Json,
}

/// A filter, as it was typed, if it is one: another would be found out when its lines are missed.
fn filter(words: &str) -> Result<String, String> {
    match EnvFilter::try_new(words) {
        Ok(_) => Ok(words.to_owned()),
        Err(_) => {
            Err("a level (error, warn, info, debug, trace, off), or target=level pairs with commas between"
                .to_owned())
        }
    }
}

/// What is to be ended with the process, in this order.
pub(crate) struct Telemetry {
    pub(crate) export: Option<Export>,
    /// Of a service.
    pub(crate) log: Option<FlushAtEnd>,
}

/// Starts logging, and exporting traces where that is set. A service does not wait for who reads its log.
pub(crate) fn start(
    logs: &Logs,
    default_log: &str,
    traces: Option<&TraceSettings>,
    runtime: &Handle,
    is_service: bool,
) -> anyhow::Result<Telemetry> {
    let export = match traces {
        Some(traces) => Export::start(traces, runtime.clone())?,
        None => None,
    };
    std::panic::set_hook(Box::new(panicked));
    let (writer, log) = match is_service {
        true => {
            let (writer, log) = LogWriter::start().context("starting the log")?;
            (BoxMakeWriter::new(writer), Some(log))
        }
        false => (BoxMakeWriter::new(std::io::stderr), None),
    };
    let filter = logs.filter(default_log);
    match &export {
        Some(export) => logs.start_with_traces(filter, writer, export),
        None => logs.start(filter, writer),
    }
    Ok(Telemetry { export, log })
}

/// A panic is logged by its place alone: its message may quote what was being read, which may be a user's words.
fn panicked(panic: &PanicHookInfo<'_>) {
    let place = panic.location().map(ToString::to_string);
    let thread = std::thread::current();
    tracing::error!(place, thread = thread.name(), "panicked");
}

impl Logs {
    /// What the format is on this stderr, where it is chosen automatically.
    pub(crate) fn chosen(&self) -> &'static str {
        match self.shape() {
            Shape::Json => "json",
            Shape::Human => "human",
        }
    }

    /// Whatever is asked for, spans of traces are no part of the log: without a collector they are switched off where
    /// they stand. Nor is what the driver says of a broken line in a file of passwords: it shows the line. Nor what the SDK of MCP
    /// says of every request: three lines at `info`, and the words of users at `debug`.
    fn filter(&self, default: &str) -> EnvFilter {
        // What the server notices of a schema that is there already is no news to anybody.
        let default = || format!("{default},{}=warn", NOTICES);
        let asked = self.log.clone().unwrap_or_else(default);
        let bounded = NEVER.iter().filter_map(|(target, level)| format!("{target}={level}").parse().ok());
        bounded.fold(EnvFilter::new(asked), EnvFilter::add_directive)
    }

    fn shape(&self) -> Shape {
        match (self.log_format, std::io::stderr().is_terminal()) {
            (Format::Json, _) | (Format::Auto, false) => Shape::Json,
            (Format::Human | Format::Auto, _) => Shape::Human,
        }
    }

    /// Whether the lines are coloured: on a terminal, unless `NO_COLOR` or its like says otherwise.
    fn is_coloured() -> bool {
        anstream::AutoStream::choice(&std::io::stderr()) != anstream::ColorChoice::Never
    }

    fn start(&self, filter: EnvFilter, writer: BoxMakeWriter) {
        // A line that cannot be written is lost: to complain of it on the same stderr would end the process.
        let subscriber = tracing_subscriber::fmt().with_env_filter(filter).with_writer(writer);
        let subscriber = subscriber.log_internal_errors(false);
        match self.shape() {
            Shape::Json => subscriber.json().flatten_event(true).with_span_list(false).init(),
            Shape::Human => {
                subscriber.with_ansi(Self::is_coloured()).compact().with_target(false).init();
            }
        }
    }

    fn start_with_traces(&self, filter: EnvFilter, writer: BoxMakeWriter, export: &Export) {
        let registry = tracing_subscriber::registry().with(export.layer());
        let lines = tracing_subscriber::fmt::layer().with_writer(writer).log_internal_errors(false);
        let shape = self.shape();
        match shape {
            Shape::Json => {
                let lines = lines.json().flatten_event(true).with_span_list(false);
                let lines = lines.map_event_format(|format| WithTraceIds { format, shape });
                registry.with(lines.with_filter(filter)).init();
            }
            Shape::Human => {
                let lines = lines.with_ansi(Self::is_coloured()).compact().with_target(false);
                let lines = lines.map_event_format(|format| WithTraceIds { format, shape });
                registry.with(lines.with_filter(filter)).init();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "tests stop at the first surprise")]

    use clap::Parser;

    use super::*;
    use crate::cli::Cli;

    /// What must never be in a log.
    const SAID: &str = "The orchid needs water on Thursday";

    #[test]
    fn panic_log_has_the_location_and_no_message() {
        // A hook is the whole process's: this program once more, for one test.
        let mut once_more = std::process::Command::new(std::env::current_exe().unwrap());
        once_more.args([
            "--exact",
            "telemetry::tests::child_process_that_panics",
            "--ignored",
            "--nocapture",
        ]);
        let output = once_more.output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && told.contains(file!()), "{told}");
        assert!(!told.contains(SAID), "{told}");
    }

    #[test]
    fn log_filter_never_enables_passwords_or_mcp_messages() {
        for log in ["info", "trace", "sqlx_postgres::options=trace", "rmcp::service=debug"] {
            let cli = ["listen", "--log", log, "completions", "bash"];
            let filter = Cli::try_parse_from(cli).unwrap().logs.filter("info");
            for (target, level) in NEVER {
                assert!(filter.to_string().contains(&format!("{target}={level}")), "{filter}");
            }
            assert!(!filter.to_string().contains("rmcp::service=debug"), "{filter}");
        }
    }

    #[test]
    #[ignore = "it makes the logs of a whole process: another test runs it in one of its own"]
    fn child_process_that_panics() {
        let cli = ["listen", "--log=info", "--log-format=json", "completions", "bash"];
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        start(&Cli::try_parse_from(cli).unwrap().logs, DEFAULT_LOG, None, runtime.handle(), false).unwrap();
        assert!(std::thread::spawn(|| panic!("{SAID}")).join().is_err());
    }
}

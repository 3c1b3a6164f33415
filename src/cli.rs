//! The command line: subcommands, and the file that stands between environment and default.

mod environment;
mod examples;

use std::{ffi::OsString, path::PathBuf, process::ExitCode};

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand, error::ErrorKind};

use crate::{
    commands::{
        self, apps, audit, docs, doctor, explain, folders, healthcheck, jobs, keys, live, migrate, replays,
        secrets, users, verify, webhooks,
    },
    config::{Config, Setting, effective, is_setting},
    demo, dev,
    lifecycle::{Interruption, Lifecycle},
    serve,
    telemetry::{DEFAULT_LOG, Logs},
    terminal::GLOBAL,
    traces::{SpanCounts, TraceSettings},
};

/// Keeps users' conversations and turns each of them, durably, into a title, an overview, action items and memories.
#[derive(Debug, Parser)]
#[command(name = "listen", version, propagate_version = true, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) logs: Logs,
    /// TOML file of settings; flags and environment take precedence.
    #[arg(
        long,
        env = "LISTEN_CONFIG",
        global = true,
        value_name = "FILE",
        help_heading = GLOBAL,
        display_order = 902
    )]
    config: Option<PathBuf>,
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Every setting with where it comes from, for `config`.
    #[arg(skip)]
    pub(crate) settings: Vec<Setting>,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show everything at work on a private database, and exit.
    Demo(Box<demo::Demo>),
    /// Run everything on a private database, for trying it out.
    Dev(Box<dev::Dev>),
    /// Run the service.
    Serve(Box<Config>),
    /// Migrate the database's schema.
    Migrate(Box<migrate::Migrate>),
    /// List, explain, replay, run, cancel and dismiss jobs; pause and resume queues.
    Jobs(jobs::Jobs),
    /// List, watch, pause, resume and cancel bulk replays.
    Replays(replays::Replays),
    /// List webhook endpoints in trouble, enable them, try and recover deliveries.
    Webhooks(webhooks::Webhooks),
    /// List live conversations.
    Live(live::Live),
    /// List operators' actions and their reasons.
    Audit(audit::Audit),
    /// Check the service's guarantees against the database.
    Verify(verify::Verify),
    /// Examine a deployment, and say what to do.
    Doctor(doctor::Doctor),
    /// Explain a failure code, a state, an alert or a term.
    Explain(explain::Explain),
    /// Ask a running process whether it is ready, for containers and probes.
    Healthcheck(healthcheck::Healthcheck),
    /// Create, show, set, export and delete users.
    Users(users::Users),
    /// List, create, update and delete folders.
    Folders(folders::Folders),
    /// Create, list and revoke developer keys.
    Keys(keys::Keys),
    /// Create, list and install apps of third parties, and make their keys.
    Apps(Box<apps::Apps>),
    /// Encrypt stored secrets anew, and show how they are stored.
    Secrets(secrets::Secrets),
    /// Print the effective settings, secrets masked; exit with 2 if they cannot work.
    Config(Box<commands::config::Show>),
    /// Print the OpenAPI document.
    Openapi,
    /// Print a page of the reference manual, in Markdown.
    Docs(docs::Docs),
    /// Print completions for a shell.
    Completions {
        /// Which shell.
        shell: clap_complete::Shell,
    },
    /// Print the manual page, or write one per command into a folder.
    Man(docs::Man),
}

impl Cli {
    /// Runs the command to its end. `signals` are those of a command that runs until one, `spans` are counted where traces are
    /// on.
    pub(crate) async fn run(
        self,
        signals: Option<Interruption>,
        spans: Option<SpanCounts>,
    ) -> anyhow::Result<ExitCode> {
        let lifecycle = signals.map(Lifecycle::of).unwrap_or_default();
        if matches!(self.command, Command::Serve(_) | Command::Dev(_) | Command::Config(_)) {
            environment::tell_unknown(&command());
        }
        match self.command {
            Command::Demo(demo) => demo::run(*demo).await,
            Command::Dev(dev) => dev::run(*dev, lifecycle, spans).await,
            Command::Serve(config) => serve::run(*config, lifecycle, spans).await,
            Command::Migrate(migrate) => migrate::run(*migrate).await,
            Command::Jobs(jobs) => jobs::run(jobs).await,
            Command::Replays(replays) => replays::run(replays).await,
            Command::Webhooks(webhooks) => webhooks::run(webhooks).await,
            Command::Live(live) => live::run(live).await,
            Command::Audit(audit) => audit::run(audit).await,
            Command::Verify(verify) => verify::run(verify).await,
            Command::Doctor(doctor) => doctor::run(doctor).await,
            Command::Explain(explain) => explain::run(&explain),
            Command::Healthcheck(check) => healthcheck::run(check).await,
            Command::Users(users) => users::run(users).await,
            Command::Folders(folders) => folders::run(folders).await,
            Command::Apps(apps) => apps::run(*apps).await,
            Command::Secrets(secrets) => secrets::run(secrets).await,
            Command::Keys(keys) => keys::run(keys).await,
            Command::Config(show) => commands::config::run(&show, &self.settings, &self.logs),
            Command::Openapi => docs::openapi(),
            Command::Docs(docs) => docs::run(&docs, command()),
            Command::Completions { shell } => docs::completions(shell, command()),
            Command::Man(man) => docs::man(&man, command()),
        }
    }
}

impl Command {
    /// The default log filter.
    pub(crate) fn default_log(&self) -> &'static str {
        match self {
            Self::Demo(_) => "error",
            _ => DEFAULT_LOG,
        }
    }

    /// Where traces go, of the commands that have some.
    pub(crate) fn traces(&self) -> Option<&TraceSettings> {
        match self {
            Self::Serve(config) => Some(&config.traces),
            Self::Dev(dev) => Some(dev.traces()),
            _ => None,
        }
    }
}

/// The commands that run until a signal asks them to stop.
const SERVICES: [&str; 2] = ["serve", "dev"];

/// Whether the words ask for one that runs until a signal: to be known before all of them are parsed.
pub(crate) fn runs_until_a_signal() -> bool {
    subcommand(std::env::args_os().skip(1)).is_some_and(|name| SERVICES.iter().any(|known| name == *known))
}

/// The first word that is neither an option nor the value of one.
fn subcommand(mut words: impl Iterator<Item = OsString>) -> Option<OsString> {
    while let Some(word) = words.next() {
        match word.to_str() {
            Some("--config" | "--log" | "--log-format") => drop(words.next()),
            Some(option) if option.starts_with('-') => {}
            _ => return Some(word),
        }
    }
    None
}

/// Parses the command line over the file's values.
pub(crate) fn parse() -> Result<Cli, clap::Error> {
    let command = command();
    let file = config_file().map_or_else(|| Ok(toml::Table::new()), |path| read_file(&command, &path))?;
    let command = with_defaults(command, &file);
    let matches = environment::without_empty(command.clone()).try_get_matches();
    let matches = matches.map_err(|refusal| environment::with_source(refusal, &command))?;
    let settings = effective(&command, &matches, &file);
    Ok(Cli { settings, ..Cli::from_arg_matches(&matches)? })
}

/// The command line with the examples of its help.
pub(crate) fn command() -> clap::Command {
    examples::shown(Cli::command())
}

/// The file is needed before the words are parsed: its values are their defaults.
fn config_file() -> Option<PathBuf> {
    let mut words = std::env::args_os().skip(1);
    while let Some(word) = words.next() {
        let Some(text) = word.to_str() else { continue };
        if text == "--config" {
            return words.next().map(PathBuf::from);
        }
        if let Some(path) = text.strip_prefix("--config=") {
            return Some(PathBuf::from(path));
        }
    }
    std::env::var_os("LISTEN_CONFIG").filter(|path| !path.is_empty()).map(PathBuf::from)
}

fn read_file(command: &clap::Command, path: &std::path::Path) -> Result<toml::Table, clap::Error> {
    let refuse = |words: String| Cli::command().error(ErrorKind::InvalidValue, words);
    let text = std::fs::read_to_string(path)
        .map_err(|error| refuse(format!("cannot read {}: {error}", path.display())))?;
    let table: toml::Table =
        text.parse().map_err(|error| refuse(format!("{} is not TOML: {error}", path.display())))?;
    let unknown: Vec<&str> =
        table.keys().map(String::as_str).filter(|name| !is_setting(command, name)).collect();
    if !unknown.is_empty() {
        return Err(refuse(format!("{} names unknown settings: {}", path.display(), unknown.join(", "))));
    }
    Ok(table)
}

/// The same words, with the file's values for their defaults: every command takes those of the settings that it has. What it does
/// not read from the environment is an argument of its own, like `--apps` of a user.
fn with_defaults(command: clap::Command, table: &toml::Table) -> clap::Command {
    let with_default = |arg: clap::Arg| match table.get(arg.get_id().as_str()) {
        // `--help` prints defaults: one that hides its variable's value hides the file's, too.
        Some(value) if arg.get_env().is_some() => {
            let is_secret = arg.is_hide_env_values_set();
            arg.default_value(plain(value)).hide_default_value(is_secret)
        }
        _ => arg,
    };
    let names: Vec<String> = command.get_subcommands().map(|inner| inner.get_name().to_owned()).collect();
    names.into_iter().fold(command.mut_args(with_default), |command, name| {
        command.mut_subcommand(name, |inner| with_defaults(inner, table))
    })
}

/// A TOML value as the words of a flag.
fn plain(value: &toml::Value) -> String {
    match value {
        toml::Value::String(text) => text.clone(),
        toml::Value::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    #[test]
    fn command_is_recognized_before_its_arguments_are_parsed() {
        let named = |words: &[&str]| subcommand(words.iter().map(OsString::from));
        for words in [
            &["serve"][..],
            &["--log", "dev", "serve", "--config", "a"],
            &["--config=a", "--log-format", "json", "serve", "dev"],
            &["-v", "serve"],
        ] {
            assert_eq!(named(words), Some("serve".into()), "{words:?}");
        }
        assert_eq!(named(&["help", "serve"]), Some("help".into()));
        assert_eq!(named(&["--config", "serve"]), None);
    }

    #[test]
    fn every_command_takes_the_settings_of_the_file_that_it_has() {
        let text = "secrets_key = 'geheim'\napps = 'public'\nallow_outgoing = ['10.0.0.0/8', '127.0.0.0/8']\n\
                    finalization_tasks_queue = 'listen'\nlog = 'warn'\n";
        let file: toml::Table = text.parse().unwrap();
        let of = |words: &[&str], name: &str| {
            let words = std::iter::once("listen").chain(words.iter().copied());
            let matches = with_defaults(command(), &file).try_get_matches_from(words).unwrap();
            let mut inner = &matches;
            while let Some((_, matches)) = inner.subcommand() {
                inner = matches;
            }
            let values = inner.get_raw(name).into_iter().flatten();
            values.map(|value| value.to_string_lossy().into_owned()).collect::<Vec<_>>()
        };
        let making = &["apps", "create", "--user", "ada", "Notes"];
        assert_eq!(
            of(making, "secrets_key"),
            ["geheim"],
            "what it stores is encrypted as the service does it"
        );
        assert_eq!(of(making, "apps"), ["public"]);
        assert_eq!(of(making, "allow_outgoing"), ["10.0.0.0/8", "127.0.0.0/8"]);
        assert_eq!(of(&["secrets", "rotate"], "secrets_key"), ["geheim"]);
        assert_eq!(of(&["doctor"], "finalization_tasks_queue"), ["listen"]);
        assert_eq!(of(&["jobs", "list"], "log"), ["warn"]);
        let given = [making.as_slice(), &["--apps", "off"]].concat();
        assert_eq!(of(&given, "apps"), ["off"], "a flag takes precedence");
        assert!(of(&["users", "set", "ada"], "apps").is_empty(), "summarization apps of a user");
    }
}

//! The settings as they are in effect, each with where it comes from: read from the command line's own description, so that
//! no setting is listed twice. Secrets are masked.

use std::ffi::OsStr;

use clap::{Arg, ArgMatches, Command, parser::ValueSource};

use crate::{
    database::{display_ranges, shown_url},
    telemetry::DEFAULT_LOG,
};

/// A setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Setting {
    /// Its name in a file.
    pub(crate) name: String,
    /// Its value, masked where it is a secret; `None` where it has none.
    pub(crate) value: Option<String>,
    /// Where the value comes from.
    pub(crate) source: &'static str,
}

/// The settings of a command that takes them all, in the order of its help.
pub(crate) fn effective(command: &Command, matches: &ArgMatches, file: &toml::Table) -> Vec<Setting> {
    let Some((name, matches)) = matches.subcommand() else { return Vec::new() };
    let of_command = command.find_subcommand(name).into_iter().flat_map(Command::get_arguments);
    let is_setting = |arg: &&Arg| arg.get_env().is_some() && !arg.is_hide_set() && arg.get_id() != "config";
    let settings = of_command.filter(|arg| !arg.is_global_set()).chain(command.get_arguments());
    settings.filter(is_setting).map(|arg| setting(arg, matches, file)).collect()
}

/// Whether a file may hold a value of that name.
pub(crate) fn is_setting(command: &Command, name: &str) -> bool {
    let of_serve = command.find_subcommand("serve").into_iter().flat_map(Command::get_arguments);
    OF_LOGS.contains(&name) || of_serve.map(Arg::get_id).any(|id| id == name)
}

/// The settings that every command takes, and that stand before all of them: how to log.
const OF_LOGS: [&str; 2] = ["log", "log_format"];

fn setting(arg: &Arg, matches: &ArgMatches, file: &toml::Table) -> Setting {
    let id = arg.get_id().as_str();
    let raw = matches.get_raw(id).map(|values| {
        let values: Vec<_> = values.map(OsStr::to_string_lossy).collect();
        values.join(",")
    });
    let value = raw.filter(|value| !value.is_empty()).map(|value| match id {
        "database_url" => shown_url(&value).unwrap_or_else(|| SET.to_owned()),
        "shard_urls" => display_ranges(&value).unwrap_or_else(|| SET.to_owned()),
        _ if arg.is_hide_env_values_set() || has_password(id, &value) => SET.to_owned(),
        _ => value,
    });
    let source = match matches.value_source(id) {
        Some(ValueSource::CommandLine) => "flag",
        Some(ValueSource::EnvVariable) => "environment",
        _ if file.contains_key(id) => "file",
        _ => "default",
    };
    // It differs from command to command, and so is no default of the flag.
    let value = if id == "log" { value.or_else(|| Some(DEFAULT_LOG.to_owned())) } else { value };
    Setting { name: id.to_owned(), value, source }
}

/// What is shown of a secret.
const SET: &str = "(set)";

/// A name and a password in an address are refused, and not shown either.
fn has_password(id: &str, value: &str) -> bool {
    (id.ends_with("url") || id.ends_with("endpoint") || id.ends_with("origins")) && value.contains('@')
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use clap::CommandFactory;

    use super::*;
    use crate::cli::Cli;

    fn settings(words: &[&str], file: &str) -> Vec<Setting> {
        let command = Cli::command();
        let all = [&["listen", "config"], words].concat();
        let matches = command.clone().try_get_matches_from(all).unwrap();
        effective(&command, &matches, &file.parse().unwrap())
    }

    fn of(settings: &[Setting], name: &str) -> (Option<String>, &'static str) {
        let found = settings.iter().find(|setting| setting.name == name).unwrap();
        (found.value.clone(), found.source)
    }

    #[test]
    fn config_names_the_source_of_each_setting() {
        let found = settings(&["--finalization-concurrency=7"], "retention_days = 9");
        assert_eq!(of(&found, "finalization_concurrency"), (Some("7".to_owned()), "flag"));
        assert_eq!(of(&found, "retention_days").1, "file");
        assert_eq!(of(&found, "roles"), (Some("api,worker,reconciler".to_owned()), "default"));
        assert_eq!(of(&found, "log"), (Some("info".to_owned()), "default"));
        assert_eq!(of(&found, "openai_model").0, None);
    }

    #[test]
    fn config_hides_addresses_with_a_password() {
        let found = settings(&["--openai-base-url=https://ana:secret@models.example/v1"], "");
        assert_eq!(of(&found, "openai_base_url"), (Some(SET.to_owned()), "flag"));
        let found = settings(&["--database-url=postgres://ana:secret@db.example/listen"], "");
        assert_eq!(of(&found, "database_url").0.unwrap(), "ana@db.example:5432/listen");
        let found = settings(&["--shard-urls=0-1=postgres://ana:secret@db.example/listen"], "");
        assert_eq!(of(&found, "shard_urls").0.unwrap(), "0-1=ana@db.example:5432/listen");
    }

    #[test]
    fn config_shows_only_whether_a_secret_is_set() {
        let keys = [
            "openai_api_key",
            "vapid_private_key",
            "console_keys",
            "secrets_key",
            "speech_api_key",
            "deepgram_api_key",
            "otel_exporter_otlp_headers",
        ];
        let words = keys.map(|name| format!("--{}=ana=hushed,ben=hushed", name.replace('_', "-")));
        let found = settings(&words.each_ref().map(String::as_str), "");
        for name in keys {
            assert_eq!(of(&found, name), (Some(SET.to_owned()), "flag"), "{name}");
        }
        assert!(!format!("{found:?}").contains("hushed"), "{found:?}");
    }

    #[test]
    fn config_lists_every_setting_once() {
        let command = Cli::command();
        let serve = command.find_subcommand("serve").unwrap().get_arguments();
        let mut expected: Vec<String> = serve
            .filter(|arg| arg.get_env().is_some() && !arg.is_hide_set())
            .map(|arg| arg.get_id().to_string())
            .collect();
        expected.extend(["log".to_owned(), "log_format".to_owned()]);
        let found: Vec<String> = settings(&[], "").into_iter().map(|setting| setting.name).collect();
        assert_eq!(found, expected);
    }
}

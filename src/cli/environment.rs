//! The environment as people set it: a variable that is set to nothing is not set, a value that is refused is traced back
//! to the variable it came from, and a name that no setting has is said to have no effect.

use std::{collections::BTreeSet, ffi::OsStr};

use clap::{
    Arg, Command, Error,
    builder::StyledStr,
    error::{ContextKind, ContextValue},
};

/// The same words, without the variables that hold nothing: `LISTEN_ADDR=` in a file of settings means the default.
pub(super) fn without_empty(command: Command) -> Command {
    without(command, &|name| std::env::var_os(name).is_some_and(|value| value.is_empty()))
}

fn without(command: Command, is_empty: &dyn Fn(&OsStr) -> bool) -> Command {
    let forget = |arg: Arg| match arg.get_env().is_some_and(is_empty) {
        true => arg.env(None::<&'static str>),
        false => arg,
    };
    let command = command.mut_args(forget);
    let names: Vec<String> = command.get_subcommands().map(|inner| inner.get_name().to_owned()).collect();
    names
        .into_iter()
        .fold(command, |command, name| command.mut_subcommand(name, |inner| without(inner, is_empty)))
}

/// A refusal of a value from the environment or a file says where the value stands.
pub(super) fn with_source(refusal: Error, command: &Command) -> Error {
    let typed: Vec<String> = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    named(refusal, command, &typed)
}

fn named(mut refusal: Error, command: &Command, typed: &[String]) -> Error {
    let Some(ContextValue::String(shown)) = refusal.get(ContextKind::InvalidArg) else { return refusal };
    let flag = shown.split_whitespace().next().unwrap_or_default().to_owned();
    let with_value = format!("{flag}=");
    if typed.iter().any(|word| *word == flag || word.starts_with(&with_value)) {
        return refusal;
    }
    if let Some(variable) = variable_of(command, flag.trim_start_matches('-')) {
        let tip = StyledStr::from(format!("the value is that of {variable}, or of the file of settings"));
        refusal.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
    }
    refusal
}

fn variable_of(command: &Command, flag: &str) -> Option<String> {
    let own = command.get_arguments().find(|arg| arg.get_long() == Some(flag));
    match own.and_then(Arg::get_env) {
        Some(name) => Some(name.to_string_lossy().into_owned()),
        None => command.get_subcommands().find_map(|inner| variable_of(inner, flag)),
    }
}

/// Warns in the log of each variable that begins with `LISTEN_` and names no setting: a misspelt one has no effect.
pub(super) fn tell_unknown(command: &Command) {
    let set = std::env::vars_os().filter(|(_, value)| !value.is_empty());
    let set = set.filter_map(|(name, _)| name.into_string().ok());
    for (variable, meant) in unknown(command, set) {
        match meant {
            Some(meant) => tracing::warn!("{variable} is not a setting and has no effect: is {meant} meant?"),
            None => tracing::warn!("{variable} is not a setting and has no effect: see `listen config`"),
        }
    }
}

/// Each of `set` that no setting has for its name, with the name that is most like it.
fn unknown(command: &Command, set: impl Iterator<Item = String>) -> Vec<(String, Option<String>)> {
    let known = variables(command);
    let like = |variable: &str| {
        let alike = known.iter().map(|name| (strsim::osa_distance(variable, name), name));
        alike.min().filter(|(distance, _)| *distance <= 3).map(|(_, name)| name.clone())
    };
    let ours = set.filter(|name| name.starts_with("LISTEN_") && !of_others(name) && !known.contains(name));
    ours.map(|variable| (like(&variable), variable)).map(|(meant, variable)| (variable, meant)).collect()
}

fn variables(command: &Command) -> BTreeSet<String> {
    let own =
        command.get_arguments().filter_map(Arg::get_env).map(|name| name.to_string_lossy().into_owned());
    own.chain(command.get_subcommands().flat_map(variables)).collect()
}

/// Whether systemd sets it for sockets (`sd_listen_fds(3)`), Kubernetes for a Service whose name begins with `listen`, or the
/// private PostgreSQL reads it.
fn of_others(name: &str) -> bool {
    const SYSTEMD: [&str; 4] = ["LISTEN_PID", "LISTEN_PIDFDID", "LISTEN_FDS", "LISTEN_FDNAMES"];
    let is_of_kubernetes = name.contains("_SERVICE_HOST")
        || name.contains("_SERVICE_PORT")
        || name.ends_with("_PORT")
        || name.contains("_PORT_");
    SYSTEMD.contains(&name) || is_of_kubernetes || name.starts_with("LISTEN_EMBEDDED_")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

    use clap::CommandFactory;

    use super::*;
    use crate::cli::Cli;

    #[test]
    fn empty_environment_variable_is_ignored() {
        let command = without(Cli::command(), &|name| name == "LISTEN_ADDR");
        let serve = command.find_subcommand("serve").unwrap();
        let of = |flag| serve.get_arguments().find(|arg| arg.get_long() == Some(flag)).unwrap().get_env();
        assert_eq!(of("addr"), None);
        assert_eq!(of("admin-addr"), Some(OsStr::new("LISTEN_ADMIN_ADDR")));
    }

    #[test]
    fn refused_environment_value_names_its_variable() {
        let refusal =
            || Cli::command().try_get_matches_from(["listen", "serve", "--addr", "here"]).unwrap_err();
        let told = |typed: &[&str]| {
            let typed: Vec<String> = typed.iter().map(ToString::to_string).collect();
            named(refusal(), &Cli::command(), &typed).to_string()
        };
        assert!(told(&["listen", "serve"]).contains("tip: the value is that of LISTEN_ADDR"));
        assert!(!told(&["listen", "serve", "--addr", "here"]).contains("LISTEN_ADDR"));
        assert!(!told(&["listen", "serve", "--addr=here"]).contains("LISTEN_ADDR"));
    }

    #[test]
    fn misspelt_variable_is_told_with_the_name_that_is_meant() {
        let set = [
            "LISTEN_ADDR",
            "LISTEN_DATABASE_URL",
            "LISTEN_FINALIZATION_CONCURENCY",
            "LISTEN_PID",
            "LISTEN_API_SERVICE_HOST",
            "LISTEN_API_PORT_8080_TCP_ADDR",
            "LISTEN_EMBEDDED_FETCH",
            "HOME",
        ];
        let told = unknown(&Cli::command(), set.into_iter().map(str::to_owned));
        let told: Vec<_> = told.iter().map(|(name, meant)| (name.as_str(), meant.as_deref())).collect();
        let concurrency = Some("LISTEN_FINALIZATION_CONCURRENCY");
        assert_eq!(told, [("LISTEN_DATABASE_URL", None), ("LISTEN_FINALIZATION_CONCURENCY", concurrency)]);
    }
}

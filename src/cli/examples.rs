//! Examples below each command's help. A test parses every one of them.

use clap::Command;

/// A command, and what may be typed. `$` lines are commands; the rest of a line behind `#` says what it does.
const EXAMPLES: [(&str, &[&str]); 59] = [
    ("demo", &["listen demo", "listen demo --json"]),
    ("dev", &["listen dev", "listen dev --fresh --addr 127.0.0.1:9090"]),
    (
        "serve",
        &[
            "listen serve --finalization-dispatch-mode postgres",
            "listen serve --config listen.toml --roles api",
        ],
    ),
    ("migrate", &["listen migrate"]),
    (
        "jobs list",
        &[
            "listen jobs list --status dead_letter --newer-than 1d",
            "listen jobs list --code model_rejected --by-code",
        ],
    ),
    ("jobs show", &["listen jobs show 89abcdef"]),
    ("jobs why", &["listen jobs why 89abcdef"]),
    ("jobs watch", &["listen jobs watch", "listen jobs watch 89abcdef --json"]),
    (
        "jobs replay",
        &[
            "listen jobs replay 89abcdef --reason \"the model is back\"",
            "listen jobs replay --code model_timeout --dry-run --reason \"it is back\"",
        ],
    ),
    ("jobs dismiss", &["listen jobs dismiss --older-than 30d --reason \"too old to matter\" --yes"]),
    (
        "jobs run-now",
        &[
            "listen jobs run-now 89abcdef --reason \"the cause is gone\"",
            "listen jobs run-now --all --reason \"the model server is back\" --yes",
        ],
    ),
    (
        "jobs cancel",
        &[
            "listen jobs cancel 89abcdef --reason \"it starves the others\" --yes",
            "listen jobs cancel --user ada --reason \"her client sends too much\" --dry-run",
        ],
    ),
    ("jobs pause", &["listen jobs pause finalization --reason \"the model server is changed\""]),
    ("jobs resume", &["listen jobs resume finalization --reason \"the model server was changed\""]),
    ("replays list", &["listen replays list --limit 5"]),
    ("replays show", &["listen replays show 7027f907 --limit 100"]),
    ("replays watch", &["listen replays watch 7027f907"]),
    ("replays pause", &["listen replays pause 7027f907 --reason \"the model server is slow\""]),
    ("replays resume", &["listen replays resume 7027f907 --reason \"it is fast again\""]),
    ("replays cancel", &["listen replays cancel 7027f907 --reason \"the wrong filter\""]),
    ("webhooks list", &["listen webhooks list", "listen webhooks list --user ada"]),
    ("webhooks show", &["listen webhooks show --user ada 7027f907"]),
    ("webhooks recover", &["listen webhooks recover --user ada 7027f907 --since 2d --reason \"it is back\""]),
    ("webhooks try-now", &["listen webhooks try-now --user ada 7027f907 --reason \"the receiver is back\""]),
    ("webhooks enable", &["listen webhooks enable --user ada 7027f907 --reason \"the receiver is back\""]),
    ("live list", &["listen live list --user ada"]),
    ("audit list", &["listen audit list --operator olga --limit 20", "listen audit list --job 89abcdef"]),
    ("verify", &["listen verify", "listen verify --fix-totals --reason \"the totals were wrong\""]),
    ("doctor", &["listen doctor", "listen doctor --json"]),
    ("explain", &["listen explain", "listen explain model_rejected"]),
    ("healthcheck", &["listen healthcheck --admin-addr 127.0.0.1:8081"]),
    ("users list", &["listen users list --limit 100 --json"]),
    ("users create", &["listen users create --id ada --time-zone Europe/London"]),
    ("users set", &["listen users set ada --limits conversations-per-day=500,bytes=2GiB"]),
    ("users show", &["listen users show ada"]),
    ("users delete", &["listen users delete ada --reason \"Ada asked for it\""]),
    ("users export", &["listen users export ada --output ada.jsonl --reason \"Ada asked for it\""]),
    ("folders list", &["listen folders list --user ada"]),
    ("folders create", &["listen folders create --user ada Garden --description \"Plants and tools\""]),
    ("folders update", &["listen folders update --user ada 7027f907 --color \"#2E7D32\""]),
    ("folders delete", &["listen folders delete --user ada 7027f907"]),
    ("keys create", &["listen keys create --user ada --name telephone --scopes conversations:read"]),
    ("keys list", &["listen keys list --user ada"]),
    ("keys revoke", &["listen keys revoke --user ada 7027f907"]),
    ("apps list", &["listen apps list --user ada"]),
    ("apps show", &["listen apps show 7027f907"]),
    (
        "apps create",
        &[
            "listen apps create --user ada Minutes --manifest-url https://app.example/a",
            "listen apps create --user ada Notes --mcp-url https://notes.example/mcp",
        ],
    ),
    ("apps install", &["listen apps install --user ada 7027f907"]),
    ("apps uninstall", &["listen apps uninstall --user ada 7027f907"]),
    ("apps keys create", &["listen apps keys create 7027f907 --label \"second server\""]),
    ("apps keys list", &["listen apps keys list 7027f907"]),
    ("apps keys revoke", &["listen apps keys revoke 7027f907 d97027f9"]),
    ("apps switch-off", &["listen apps switch-off 7027f907 --reason \"it floods its users\""]),
    ("apps switch-on", &["listen apps switch-on 7027f907 --reason \"its server was mended\""]),
    ("secrets show", &["listen secrets show"]),
    ("secrets rotate", &["listen secrets rotate"]),
    ("config", &["listen config", "listen config --config listen.toml --json"]),
    ("completions", &["listen completions zsh > ~/.zfunc/_listen"]),
    ("man", &["listen man --into /usr/local/share/man/man1"]),
];

/// The same command, with its examples below its help.
pub(super) fn shown(command: Command) -> Command {
    EXAMPLES.iter().fold(command, |command, (path, examples)| {
        let words: Vec<&str> = path.split(' ').collect();
        let lines: String = examples.iter().map(|example| format!("\n  {example}")).collect();
        below(command, &words, format!("Examples:{lines}"))
    })
}

fn below(command: Command, path: &[&str], examples: String) -> Command {
    match path {
        [] => command.after_help(examples),
        // What has no such command is left alone: the test finds it.
        [name, ..] if command.find_subcommand(name).is_none() => command,
        [name, rest @ ..] => command.mut_subcommand(*name, |inner| below(inner, rest, examples)),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use clap::CommandFactory;

    use super::*;
    use crate::cli::Cli;

    /// The words of a line as a shell reads them, without what it does itself.
    fn words(line: &str) -> Vec<String> {
        let line = line.split(" > ").next().unwrap();
        let mut words = vec![String::new()];
        let mut is_quoted = false;
        for letter in line.chars() {
            match letter {
                '"' => is_quoted = !is_quoted,
                ' ' if !is_quoted => words.push(String::new()),
                _ => words.last_mut().unwrap().push(letter),
            }
        }
        words
    }

    #[test]
    fn every_example_parses() {
        for (path, examples) in EXAMPLES {
            assert!((1..=2).contains(&examples.len()), "{path}");
            for example in examples {
                assert!(example.starts_with(&format!("listen {path}")), "{example} is not of {path}");
                assert!(example.len() <= 78, "{example} would be broken in two, and could not be copied");
                let mut words = words(example);
                words.extend(["--log=info".to_owned()]);
                if example.contains("--reason") {
                    words.extend(["--operator=olga".to_owned()]);
                }
                let read = Cli::command().try_get_matches_from(words);
                assert!(read.is_ok(), "{example}: {}", read.unwrap_err());
            }
        }
    }

    #[test]
    fn every_command_has_an_example() {
        fn lacking(command: &Command, path: &str, found: &mut Vec<String>) {
            for inner in command.get_subcommands().filter(|inner| inner.get_name() != "help") {
                let path = format!("{path} {}", inner.get_name());
                if !inner.has_subcommands() && inner.get_after_help().is_none() {
                    found.push(path.trim().to_owned());
                }
                lacking(inner, &path, found);
            }
        }
        let mut found = Vec::new();
        lacking(&shown(Cli::command()), "", &mut found);
        // A page of the manual is its own example.
        assert_eq!(found, ["openapi", "docs"]);
    }
}

//! The README's commands and settings, and what the binary really takes.

use std::collections::{BTreeMap, BTreeSet};

use crate::house::{all_sources, between, crates, read, root, variants};

/// Commands with verbs of their own, and where those are declared.
const WITH_VERBS: [(&str, &str); 7] = [
    ("folders", "src/commands/folders.rs"),
    ("jobs", "src/commands/jobs.rs"),
    ("replays", "src/commands/replays.rs"),
    ("webhooks", "src/commands/webhooks.rs"),
    ("audit", "src/commands/audit.rs"),
    ("users", "src/commands/users.rs"),
    ("keys", "src/commands/keys.rs"),
];

/// The commands of the README: the first word behind `listen` (or `cargo run --`) in code, and the second.
fn commands_named() -> BTreeSet<(String, Option<String>)> {
    let text = read("README.md");
    let fenced = text.split("```").skip(1).step_by(2).flat_map(str::lines);
    let inline = text.split("```").step_by(2).flat_map(|part| part.split('`').skip(1).step_by(2));
    fenced.chain(inline).filter_map(command_of).collect()
}

fn command_of(code: &str) -> Option<(String, Option<String>)> {
    let behind = ["cargo run -- ", "listen "].iter().find_map(|open| {
        let at = code.find(open)?;
        let begins = at == 0 || code[..at].ends_with([' ', '(']);
        begins.then(|| &code[at + open.len()..])
    })?;
    let mut words = behind.split_whitespace();
    let is_word = |word: &&str| word.chars().all(|letter| letter.is_ascii_lowercase() || letter == '-');
    let command = words.next().filter(is_word).filter(|word| !word.starts_with('-'))?;
    Some((command.to_owned(), words.next().filter(is_word).map(str::to_owned)))
}

#[test]
fn the_readme_names_every_command_and_no_other() {
    let there = variants(&read("src/cli.rs"), "enum Command {");
    let named: BTreeSet<String> = commands_named().into_iter().map(|(command, _)| command).collect();
    assert_eq!(named, there);
}

#[test]
fn the_readme_names_every_verb_and_no_other() {
    for (command, place) in WITH_VERBS {
        let there = variants(&read(place), "enum Verb {");
        let named: BTreeSet<String> = commands_named()
            .into_iter()
            .filter(|(named, _)| named == command)
            .filter_map(|(_, verb)| verb.filter(|verb| !verb.starts_with('-')))
            .collect();
        assert_eq!(named, there, "{command}");
    }
}

/// The settings by their names in the environment, with their defaults; hidden ones are the demo's own.
fn settings() -> BTreeMap<String, Option<String>> {
    let code = ["src/config.rs", "src/config/apps.rs", "src/config/live.rs", "src/traces/settings.rs"]
        .map(read)
        .concat();
    let attributes = between(&code, "#[arg(", ")]\n").filter(|attribute| !attribute.contains("hide = true"));
    let of = |attribute: &str| {
        let name = between(attribute, "env = \"", "\"").next()?.to_owned();
        let text = between(attribute, "default_value = \"", "\"").next();
        let number = between(attribute, "default_value_t = ", ",").next();
        Some((name, text.or(number).map(|value| value.replace('_', ""))))
    };
    let found: BTreeMap<_, _> = attributes.filter_map(of).collect();
    assert!(found.len() > 20, "the settings were found");
    found
}

#[test]
fn the_readme_gives_every_setting_with_its_default() {
    let text = read("README.md");
    for (name, default) in settings() {
        let row = text.lines().find(|line| line.starts_with('|') && line.contains(&format!("`{name}`")));
        let row = row.unwrap_or_else(|| panic!("README.md has no row for {name}"));
        if let Some(default) = default {
            assert!(
                row.replace('_', "").contains(&default),
                "README.md gives {name} another default than {default}"
            );
        }
    }
}

#[test]
fn the_readme_gives_no_setting_that_nobody_reads() {
    let sources = all_sources();
    let text = read("README.md");
    let letter = |at: char| at.is_ascii_uppercase() || at == '_';
    for name in text.split(|at| !letter(at)).filter(|word| word.starts_with("LISTEN_")) {
        let quoted = format!("\"{name}\"");
        assert!(sources.iter().any(|source| source.text.contains(&quoted)), "nobody reads {name}");
    }
}

#[test]
fn the_routes_of_the_readme_are_routes() {
    let routes = read("api/src/routes/mod.rs");
    let known: Vec<Vec<&str>> =
        between(&routes, "\"/v1/", "\"").map(|path| path.split('/').collect()).collect();
    let text = read("README.md");
    let end = |at: char| at.is_whitespace() || "\"'`)?,;|".contains(at);
    let named: Vec<&str> = text.split("/v1/").skip(1).filter_map(|rest| rest.split(end).next()).collect();
    assert!(!named.is_empty(), "the README shows routes");
    for path in named {
        let parts: Vec<&str> = path.split('/').collect();
        let fits = |known: &Vec<&str>| {
            known.len() == parts.len()
                && known.iter().zip(&parts).all(|(known, part)| known == part || known.starts_with('{'))
        };
        assert!(known.iter().any(fits), "README.md names /v1/{path}");
    }
}

#[test]
fn the_gate_runs_the_test_command_of_the_readme() {
    let command = "cargo test --workspace";
    assert!(
        read("README.md").lines().any(|line| line == command),
        "the README shows it on a line of its own"
    );
    assert!(
        read(".ci/run").lines().any(|line| line.trim().ends_with(command)),
        "the gate runs it as it stands"
    );
}

#[cfg(unix)]
#[test]
fn the_gate_can_be_executed() {
    use std::os::unix::fs::PermissionsExt;
    let mode = root().join(".ci/run").metadata().expect("the gate exists").permissions().mode();
    assert_eq!(mode & 0o111, 0o111, "mode {mode:o}");
}

#[test]
fn cargo_run_runs_the_service_however_many_programs_there_are() {
    let says = |manifest: &str| manifest.lines().any(|line| line.starts_with("default-run"));
    assert!(read("Cargo.toml").lines().any(|line| line == "default-run = \"listen\""));
    // A second one, or a second program of one package, which needs it, and cargo asks which one is meant.
    for krate in crates().into_iter().filter(|krate| krate.name != "listen") {
        let folder = krate.folder.display();
        assert!(!says(&read(&format!("{folder}/Cargo.toml"))), "{folder}");
        assert!(!root().join(&krate.folder).join("src/bin").exists(), "{folder}");
    }
}

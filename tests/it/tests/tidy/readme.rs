//! Commands, settings and routes that pages name, and what the program really takes.

use std::collections::BTreeSet;

use crate::tree::{all_sources, between, crates, pages, read, root, variants};

/// Commands with subcommands, and where those are declared.
const WITH_VERBS: [(&str, &str); 8] = [
    ("folders", "src/commands/folders.rs"),
    ("jobs", "src/commands/jobs.rs"),
    ("live", "src/commands/live.rs"),
    ("replays", "src/commands/replays.rs"),
    ("webhooks", "src/commands/webhooks.rs"),
    ("audit", "src/commands/audit.rs"),
    ("users", "src/commands/users.rs"),
    ("keys", "src/commands/keys.rs"),
];

/// A command of a page: the first word behind `listen` (or `cargo run --`) in code, and the second.
type Named = (String, Option<String>);

fn commands_named(text: &str) -> BTreeSet<Named> {
    let fenced = text.split("```").skip(1).step_by(2).flat_map(str::lines);
    let inline = text.split("```").step_by(2).flat_map(|part| part.split('`').skip(1).step_by(2));
    fenced.chain(inline).filter_map(command_of).collect()
}

fn command_of(code: &str) -> Option<Named> {
    let behind = ["cargo run -- ", "cargo run -q -- ", "listen "].iter().find_map(|open| {
        let at = code.find(open)?;
        // `-n listen` is a namespace.
        let begins = at == 0 || code[..at].ends_with([' ', '(']) && !code[..at].ends_with("-n ");
        begins.then(|| &code[at + open.len()..])
    })?;
    let mut words = behind.split_whitespace();
    let is_word = |word: &&str| word.chars().all(|letter| letter.is_ascii_lowercase() || letter == '-');
    let command = words.next().filter(is_word).filter(|word| !word.starts_with('-'))?;
    Some((command.to_owned(), words.next().filter(is_word).map(str::to_owned)))
}

#[test]
fn commands_in_pages_exist() {
    let there = variants(&read("src/cli.rs"), "enum Command {");
    let mut seen = 0;
    for (page, text) in pages() {
        for (command, verb) in commands_named(&text) {
            assert!(there.contains(&command), "{page} names `listen {command}`");
            seen += 1;
            let Some((_, place)) = WITH_VERBS.iter().find(|(known, _)| *known == command) else { continue };
            let verbs = variants(&read(place), "enum Verb {");
            let known = verb.as_ref().is_none_or(|verb| verb.starts_with('-') || verbs.contains(verb));
            assert!(known, "{page} names `listen {command} {verb:?}`");
        }
    }
    assert!(seen > 30, "the commands were found");
}

#[test]
fn settings_in_pages_exist() {
    let (sources, compose) = (all_sources(), read("deploy/compose.yaml"));
    let letter = |at: char| at.is_ascii_uppercase() || at == '_';
    for (page, text) in pages() {
        for name in text.split(|at| !letter(at)).filter(|word| word.starts_with("LISTEN_") && word.len() > 7)
        {
            let quoted = format!("\"{name}\"");
            let is_read = compose.contains(&format!("${{{name}:"))
                || sources.iter().any(|source| source.text.contains(&quoted));
            assert!(is_read, "{page} names {name}, which is not read");
        }
    }
}

#[test]
fn routes_in_readme_and_api_page_exist() {
    let routes = read("api/openapi.json");
    let known: Vec<Vec<&str>> =
        between(&routes, "\"/v1/", "\"").map(|path| path.split('/').collect()).collect();
    let text = ["README.md", "docs/api.md", "docs/byok.md"].map(read).concat();
    let end = |at: char| at.is_whitespace() || "\"'`)?,;|".contains(at);
    let named: Vec<&str> = text.split("/v1/").skip(1).filter_map(|rest| rest.split(end).next()).collect();
    assert!(named.len() > 10, "the routes were found");
    for path in named {
        let parts: Vec<&str> = path.split('/').collect();
        let fits = |known: &Vec<&str>| {
            known.len() == parts.len()
                && known.iter().zip(&parts).all(|(known, part)| known == part || known.starts_with('{'))
        };
        assert!(known.iter().any(fits), "a page names /v1/{path}");
    }
}

#[test]
fn readme_and_architecture_stay_short() {
    for (page, most) in [("README.md", 150), ("ARCHITECTURE.md", 250)] {
        let lines = read(page).lines().count();
        assert!(lines <= most, "{page} has {lines} lines");
    }
}

#[test]
fn gate_runs_the_readmes_test_command() {
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
fn gate_scripts_are_executable() {
    use std::os::unix::fs::PermissionsExt;
    for gate in [".ci/quick", ".ci/run", ".ci/nightly"] {
        let mode = root().join(gate).metadata().expect("the gate exists").permissions().mode();
        assert_eq!(mode & 0o111, 0o111, "{gate} has mode {mode:o}");
    }
}

#[test]
fn cargo_run_starts_the_service() {
    let says = |manifest: &str| manifest.lines().any(|line| line.starts_with("default-run"));
    assert!(read("Cargo.toml").lines().any(|line| line == "default-run = \"listen\""));
    // A second one, or a second program of one package, which needs it, and cargo asks which one is meant.
    for krate in crates().into_iter().filter(|krate| krate.name != "listen") {
        let folder = krate.folder.display();
        assert!(!says(&read(&format!("{folder}/Cargo.toml"))), "{folder}");
        assert!(!root().join(&krate.folder).join("src/bin").exists(), "{folder}");
    }
}

//! The tree as the other modules look at it: crates, sources, pages.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use serde_json::Value;

pub(crate) use it::{read, root};

/// A crate of ours, as its manifest has it.
pub(crate) struct Crate {
    pub(crate) name: String,
    /// Its folder, from the root of the tree; empty for the binary.
    pub(crate) folder: PathBuf,
    /// What it is built with.
    pub(crate) needs: BTreeSet<String>,
    /// What only its tests are built with.
    pub(crate) tested_with: BTreeSet<String>,
}

/// The crates with SQL.
pub(crate) const WITH_SQL: [&str; 5] = ["db", "store", "outbox", "ledger", "operations"];

/// A source file, path from the root of the tree.
pub(crate) struct Source {
    pub(crate) path: String,
    pub(crate) text: String,
}

/// The pages that newcomers and operators read, by their paths. The spec is not ours.
pub(crate) fn pages() -> Vec<(String, String)> {
    let mut found: Vec<String> = ["", "docs", "docs/notes", "dashboards", "migrations", "tests"]
        .iter()
        .flat_map(|folder| {
            let entries = fs::read_dir(root().join(folder)).expect("the folder exists");
            entries.map(move |entry| {
                let name = entry.expect("an entry can be read").file_name().to_string_lossy().into_owned();
                if folder.is_empty() { name } else { format!("{folder}/{name}") }
            })
        })
        .filter(|path| path.ends_with(".md") && path != "docs/SPEC.md")
        .collect();
    found.sort();
    assert!(found.len() > 15, "the pages were found");
    found.into_iter().map(|path| (path.clone(), read(&path))).collect()
}

/// What cargo answers to these arguments.
pub(crate) fn cargo(arguments: &[&str]) -> Vec<u8> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let answered =
        Command::new(cargo).args(arguments).current_dir(root()).output().expect("cargo can be run");
    let words = String::from_utf8_lossy(&answered.stderr);
    assert!(answered.status.success(), "cargo {arguments:?} failed: {words}");
    answered.stdout
}

/// Every crate of ours. Nothing is resolved or fetched.
pub(crate) fn crates() -> Vec<Crate> {
    let metadata = cargo(&["metadata", "--no-deps", "--format-version", "1"]);
    let metadata: Value = serde_json::from_slice(&metadata).expect("cargo metadata speaks JSON");
    let packages = metadata["packages"].as_array().expect("there are packages");
    packages.iter().map(of_package).collect()
}

fn of_package(package: &Value) -> Crate {
    let manifest = Path::new(package["manifest_path"].as_str().expect("a package has a manifest"));
    let folder = manifest.parent().and_then(|folder| folder.strip_prefix(root()).ok());
    let named = |kind: &[Option<&str>]| {
        let all = package["dependencies"].as_array().into_iter().flatten();
        let wanted = all.filter(|dependency| kind.contains(&dependency["kind"].as_str()));
        wanted.filter_map(|dependency| dependency["name"].as_str().map(str::to_owned)).collect()
    };
    Crate {
        name: package["name"].as_str().expect("a package has a name").to_owned(),
        folder: folder.expect("a crate of ours lives below the root").to_owned(),
        needs: named(&[None, Some("build")]),
        tested_with: named(&[Some("dev")]),
    }
}

/// The sources of one crate's product: what lies in its `src`, without its tests.
pub(crate) fn product_of(krate: &Crate) -> Vec<Source> {
    let sources = sources_below(&krate.folder.join("src"));
    assert!(!sources.is_empty(), "{} has sources", krate.name);
    sources
        .into_iter()
        .filter(|source| !source.path.ends_with("/tests.rs"))
        .map(|source| Source { text: without_tests(&source.text), ..source })
        .collect()
}

/// Every Rust file of the tree, whole.
pub(crate) fn all_sources() -> Vec<Source> {
    crates()
        .iter()
        .flat_map(|krate| ["src", "tests", "benches"].map(|place| krate.folder.join(place)))
        // Below the root's `tests` lie crates, which are asked for by themselves.
        .filter(|place| place != Path::new("tests"))
        .flat_map(|place| sources_below(&place))
        .collect()
}

fn sources_below(folder: &Path) -> Vec<Source> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for path in entries.map(|entry| entry.expect("an entry can be read").path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|kind| kind == "rs") {
                let named = path.strip_prefix(root()).expect("it lies below the root");
                let named = named.to_string_lossy().into_owned();
                found.push(Source { text: read(&named), path: named });
            }
        }
    }
    found.sort_by(|one, other| one.path.cmp(&other.path));
    found
}

/// The code above the test module, without lines that are comments: prose may name what code may not.
fn without_tests(text: &str) -> String {
    let begins = |at: usize| {
        let mut lines = text[at..].lines().skip_while(|line| line.starts_with("#["));
        lines.next().is_some_and(|line| line.starts_with("mod ") && line.ends_with('{'))
    };
    let tests = text.match_indices("#[cfg(test)]\n").map(|(at, _)| at).find(|at| begins(*at));
    let product = &text[..tests.unwrap_or(text.len())];
    let code = product.lines().filter(|line| !line.trim_start().starts_with("//"));
    code.collect::<Vec<_>>().join("\n")
}

/// Whether `code` names `word`, as a word of its own.
pub(crate) fn names(code: &str, word: &str) -> bool {
    let part = |letter: Option<char>| letter.is_some_and(|letter| letter.is_alphanumeric() || letter == '_');
    code.match_indices(word).any(|(at, _)| {
        let (before, behind) = (code[..at].chars().next_back(), code[at + word.len()..].chars().next());
        !part(before) && !part(behind)
    })
}

/// What stands in `text` between each `open` and the next `close`.
pub(crate) fn between<'a>(text: &'a str, open: &'a str, close: &'a str) -> impl Iterator<Item = &'a str> {
    text.split(open).skip(1).filter_map(move |rest| rest.split_once(close).map(|(inner, _)| inner))
}

/// The names of an enum's variants, small.
pub(crate) fn variants(code: &str, declared: &str) -> BTreeSet<String> {
    let body = between(code, declared, "\n}").next().unwrap_or_else(|| panic!("there is `{declared}`"));
    let own = body.lines().filter_map(|line| line.strip_prefix("    "));
    let starts = own.filter(|line| line.starts_with(|letter: char| letter.is_ascii_uppercase()));
    let end = |letter: char| !letter.is_alphanumeric();
    starts.filter_map(|line| line.split(end).next()).map(kebab).collect()
}

/// A variant as clap names its command.
fn kebab(variant: &str) -> String {
    let mut name = String::new();
    for letter in variant.chars() {
        if letter.is_ascii_uppercase() && !name.is_empty() {
            name.push('-');
        }
        name.push(letter.to_ascii_lowercase());
    }
    name
}

#[test]
fn names_matches_whole_words() {
    assert!(names("use sqlx::query;", "sqlx"));
    assert!(!names("use not_sqlx::query;", "sqlx"));
    assert!(names("chrono::Utc::now()", "Utc::now"));
    assert!(!names("let serialized = 1;", "Serialize"));
}

#[test]
fn without_tests_removes_comments_and_test_modules() {
    let text = "//! About sqlx.\n#[cfg(test)]\nmod other;\nfn work() {}\n\n#[cfg(test)]\n#[allow(a)]\nmod tests {\n}\n";
    assert_eq!(without_tests(text), "#[cfg(test)]\nmod other;\nfn work() {}\n");
}

#[test]
fn enum_variants_are_read_without_comments() {
    let code = "enum Verb {\n    /// Lists.\n    List {\n        /// Whose.\n        user: String,\n    },\n    ShowAll(Box<u8>),\n}";
    assert_eq!(variants(code, "enum Verb {"), ["list", "show-all"].map(str::to_owned).into());
}

//! Pages and the code that they speak of.

use std::collections::BTreeSet;
use std::fs;

use crate::tree::{all_sources, between, crates, pages, read, root};

fn failure_codes() -> Vec<String> {
    let list = read("pipeline/job/src/code.rs");
    let codes: Vec<String> = between(&list, " = \"", "\",").map(str::to_owned).collect();
    assert!(codes.len() >= 15, "the closed list was found");
    codes
}

/// The variants that `is_retryable` names, as they are written in columns.
fn retryable_codes() -> BTreeSet<String> {
    let list = read("pipeline/job/src/code.rs");
    let named =
        between(&list, "matches!(", ")\n    }").next().expect("retryable codes are a list").to_owned();
    let written = |variant: &str| {
        let open = format!("{variant} = \"");
        between(&list, &open, "\"").next().map(str::to_owned)
    };
    let end = |letter: char| !letter.is_alphanumeric();
    named.split("Self::").skip(1).filter_map(|rest| rest.split(end).next()).filter_map(written).collect()
}

#[test]
fn every_failure_code_has_a_page_and_every_page_a_code() {
    let pages = fs::read_dir(root().join("docs/failures")).expect("there are pages");
    let pages: BTreeSet<String> = pages
        .map(|entry| entry.expect("an entry can be read").file_name().to_string_lossy().into_owned())
        .filter(|name| name != "README.md")
        .collect();
    let wanted: BTreeSet<String> = failure_codes().iter().map(|code| format!("{code}.md")).collect();
    assert_eq!(pages, wanted);
}

#[test]
fn failure_page_states_whether_the_code_is_retried() {
    let retryable = retryable_codes();
    assert!(!retryable.is_empty(), "the list was found");
    for code in failure_codes() {
        let page = read(&format!("docs/failures/{code}.md"));
        assert!(page.starts_with(&format!("# `{code}`\n")), "{code}: the heading names the code");
        let tried = if retryable.contains(&code) {
            "**Tried again by itself:** yes"
        } else {
            "**Tried again by itself:** no"
        };
        assert!(page.contains(tried), "{code}: the page must say {tried:?}");
        for part in ["**Who sees it:**", "**What to do:**"] {
            assert!(page.contains(part), "{code}: the page lacks {part}");
        }
    }
}

#[test]
fn architecture_map_lists_every_crate() {
    let map = read("ARCHITECTURE.md");
    for krate in crates() {
        let folder = krate.folder.to_string_lossy();
        let shown = if folder.is_empty() { "`src/`".to_owned() } else { format!("`{folder}/`") };
        assert!(map.contains(&shown), "ARCHITECTURE.md does not show {shown}");
    }
}

#[test]
fn architecture_names_existing_files() {
    let map = read("ARCHITECTURE.md");
    let quoted: Vec<&str> = between_backticks(&map);
    let is_place = |word: &&&str| word.contains('/') && !word.contains([' ', '*', '{', '<', ':']);
    let is_file = |word: &str| {
        word.ends_with('/') || [".rs", ".sql", ".md", ".json", ".toml"].iter().any(|end| word.ends_with(end))
    };
    let places: Vec<&&str> = quoted.iter().filter(is_place).filter(|word| is_file(word)).collect();
    assert!(places.len() > 20, "the walkthroughs name places");
    for place in places {
        assert!(root().join(place).exists(), "ARCHITECTURE.md names {place}, which does not exist");
    }
}

#[test]
fn architecture_names_existing_functions() {
    let map = read("ARCHITECTURE.md");
    let sources = all_sources();
    let called = between_backticks(&map).into_iter().filter_map(|word| word.strip_suffix("()"));
    let functions: BTreeSet<&str> = called.filter_map(|word| word.rsplit("::").next()).collect();
    assert!(functions.len() > 10, "the walkthroughs name functions");
    for function in functions {
        let declared = [format!("fn {function}("), format!("fn {function}<")];
        let is_there = |text: &str| declared.iter().any(|words| text.contains(words));
        assert!(sources.iter().any(|source| is_there(&source.text)), "there is no function {function}");
    }
}

#[test]
fn links_between_pages_resolve() {
    for (page, text) in pages() {
        let folder = root().join(&page).parent().expect("a page lies in a folder").to_owned();
        for target in
            between(&text, "](", ")").filter(|target| !target.contains("://") && !target.starts_with('#'))
        {
            let file = target.split('#').next().unwrap_or(target);
            assert!(folder.join(file).exists(), "{page} links to {target}");
        }
    }
}

#[test]
fn metrics_in_pages_exist_in_sources() {
    let sources = all_sources();
    let product = sources.iter().filter(|source| source.path.contains("src/"));
    let there: BTreeSet<String> = product.flat_map(|source| metrics_in(&source.text)).collect();
    assert!(there.len() >= 15, "the metrics were found");
    let text: String = pages().into_iter().map(|(_, text)| text).collect();
    let named: BTreeSet<String> = metrics_in(&text).collect();
    assert_eq!(named.difference(&there).collect::<Vec<_>>(), Vec::<&String>::new(), "named, but not there");
    assert_eq!(there.difference(&named).collect::<Vec<_>>(), Vec::<&String>::new(), "there, but not named");
}

/// Metrics begin with the product's name, and what follows says of which part.
fn metrics_in(text: &str) -> impl Iterator<Item = String> {
    const PARTS: [&str; 11] = [
        "finalization",
        "fallback",
        "reconciler",
        "webhook",
        "push",
        "engine",
        "collector",
        "postgres",
        "build",
        "http",
        "trace",
    ];
    let letter = |letter: char| letter.is_ascii_lowercase() || letter == '_';
    let words = text.split(move |at: char| !letter(at)).filter(|word| word.starts_with("listen_"));
    let bare = |word: &str| {
        let ends = ["_bucket", "_count", "_sum"];
        ends.iter().find_map(|end| word.strip_suffix(end)).unwrap_or(word).to_owned()
    };
    let is_metric = |word: &String| {
        word.split('_').nth(1).is_some_and(|part| PARTS.contains(&part)) && word.split('_').count() > 2
    };
    words.map(bare).filter(is_metric).collect::<Vec<_>>().into_iter()
}

/// What stands in backticks outside of fenced blocks.
fn between_backticks(text: &str) -> Vec<&str> {
    let prose = text.split("```").step_by(2);
    prose.flat_map(|part| part.split('`').skip(1).step_by(2)).collect()
}

//! No module imports one that imports it, directly or through others: parent and child apart.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::tree::{Crate, crates, product_of};

/// A module by its path from the crate's root, which is empty itself.
type Module = Vec<String>;

#[test]
fn modules_have_no_import_cycles() {
    let mut found = Vec::new();
    for krate in crates() {
        let circles = circles_of(&krate);
        found.extend(circles.into_iter().map(|circle| format!("{}: {}", krate.name, circle.join(" -> "))));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

fn circles_of(krate: &Crate) -> Vec<Vec<String>> {
    let sources: BTreeMap<Module, String> = product_of(krate)
        .into_iter()
        .map(|source| {
            let path = Path::new(&source.path).strip_prefix(krate.folder.join("src")).expect("in src");
            (module_of(path), source.text)
        })
        .collect();
    circles(&sources)
}

/// `a/b.rs` and `a/b/mod.rs` are the module `a::b`.
fn module_of(path: &Path) -> Module {
    let mut parts: Module =
        path.with_extension("").iter().map(|part| part.to_string_lossy().into_owned()).collect();
    if parts.last().is_some_and(|last| ["lib", "main", "mod"].contains(&last.as_str())) {
        parts.pop();
    }
    parts
}

/// Between the children of each module: whose subtree imports from whose, and which of these imports form a circle.
fn circles(sources: &BTreeMap<Module, String>) -> Vec<Vec<String>> {
    let known: BTreeSet<&Module> = sources.keys().collect();
    let mut siblings: BTreeMap<Module, BTreeMap<String, BTreeSet<String>>> = BTreeMap::new();
    for (module, text) in sources {
        for imported in imports(module, text) {
            let Some(target) = declared_in(&imported, sources, &known) else { continue };
            let shared = module.iter().zip(&target).take_while(|(one, other)| one == other).count();
            // Parent and child may know each other.
            if let (Some(from), Some(to)) = (module.get(shared), target.get(shared)) {
                let graph = siblings.entry(module[..shared].to_vec()).or_default();
                graph.entry(from.clone()).or_default().insert(to.clone());
            }
        }
    }
    siblings.iter().filter_map(|(parent, graph)| circle_in(parent, graph)).collect()
}

/// One circle of a graph, if there is any.
fn circle_in(parent: &Module, graph: &BTreeMap<String, BTreeSet<String>>) -> Option<Vec<String>> {
    graph.keys().find_map(|start| {
        let mut ways: Vec<Vec<&String>> = vec![vec![start]];
        let mut seen = BTreeSet::new();
        while let Some(way) = ways.pop() {
            for next in way.last().and_then(|last| graph.get(*last)).into_iter().flatten() {
                if next == start {
                    let named = |name: &&String| [parent.as_slice(), &[(*name).clone()]].concat().join("::");
                    return Some(way.iter().chain([&start]).map(named).collect());
                }
                if seen.insert(next) {
                    ways.push([way.as_slice(), &[next]].concat());
                }
            }
        }
        None
    })
}

/// The module in which an imported path is declared: a name that a module re-exports is followed to where it comes from.
fn declared_in(
    path: &[String],
    sources: &BTreeMap<Module, String>,
    known: &BTreeSet<&Module>,
) -> Option<Module> {
    let mut module = path.to_vec();
    while !module.is_empty() && !known.contains(&module) {
        module.pop();
    }
    // A module that is imported as a whole.
    let Some(name) = path.get(module.len()) else { return Some(module) };
    let text = sources.get(&module)?;
    let from = exports(&module, text).into_iter().find(|export| export.last() == Some(name));
    match from {
        Some(from) if from != path => declared_in(&from, sources, known).or(Some(module)),
        _ => Some(module),
    }
}

/// What a module imports from its own crate, as paths from the crate's root.
fn imports(module: &[String], text: &str) -> Vec<Vec<String>> {
    let used = statements(text, "use ").into_iter().filter(|(exported, _)| !exported);
    let used = used.flat_map(|(_, tree)| leaves(&tree)).filter_map(|leaf| absolute(module, &leaf));
    // Paths that are written out where they are used.
    let inline =
        text.match_indices("crate::").filter(|(at, _)| !text[..*at].ends_with('$')).map(|(at, _)| {
            let end = |letter: char| !(letter.is_alphanumeric() || letter == '_' || letter == ':');
            let rest = &text[at + "crate::".len()..];
            let path = &rest[..rest.find(end).unwrap_or(rest.len())];
            path.split("::").filter(|part| !part.is_empty()).map(str::to_owned).collect()
        });
    used.chain(inline).collect()
}

/// What a module re-exports, as paths from the crate's root.
fn exports(module: &[String], text: &str) -> Vec<Vec<String>> {
    let used = statements(text, "use ").into_iter().filter(|(exported, _)| *exported);
    let absolute_or_child = |leaf: String| {
        absolute(module, &leaf).or_else(|| {
            Some(module.iter().cloned().chain(leaf.split("::").map(str::to_owned)).collect::<Vec<String>>())
        })
    };
    used.flat_map(|(_, tree)| leaves(&tree)).filter_map(absolute_or_child).collect()
}

/// The `use` items of a source: whether one is exported, and its tree without blanks.
fn statements(text: &str, keyword: &str) -> Vec<(bool, String)> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices(keyword) {
        let line = text[..at].rfind('\n').map_or(0, |end| end + 1);
        let before = text[line..at].trim();
        if !(before.is_empty() || before == "pub" || before.starts_with("pub(") && before.ends_with(')')) {
            continue;
        }
        let Some((tree, _)) = text[at + keyword.len()..].split_once(';') else { continue };
        found.push((!before.is_empty(), tree.split_whitespace().collect::<Vec<_>>().join(" ")));
    }
    found
}

/// The paths of a tree of imports.
fn leaves(tree: &str) -> Vec<String> {
    let tree = tree.trim();
    let Some(open) = tree.find('{') else {
        let path = tree.split(" as ").next().unwrap_or(tree);
        return vec![path.trim_end_matches("::self").trim_end_matches("::*").to_owned()];
    };
    let (before, inside) = (&tree[..open], &tree[open + 1..tree.rfind('}').unwrap_or(tree.len())]);
    let (mut depth, mut from, mut parts) = (0, 0, Vec::new());
    for (at, letter) in inside.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&inside[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&inside[from..]);
    let parts = parts.into_iter().filter(|part| !part.trim().is_empty());
    parts.flat_map(|part| leaves(&format!("{before}{}", part.trim()))).collect()
}

/// A path of this crate from its root; nothing for the path of another crate.
fn absolute(module: &[String], path: &str) -> Option<Vec<String>> {
    let mut parts: Vec<String> = path.split("::").map(str::to_owned).collect();
    let mut base = match parts.first().map(String::as_str) {
        Some("crate") => Vec::new(),
        Some("self" | "super") => module.to_vec(),
        _ => return None,
    };
    while parts.first().is_some_and(|part| part == "super") {
        base.pop();
        parts.remove(0);
    }
    parts.retain(|part| part != "crate" && part != "self");
    Some([base, parts].concat())
}

#[test]
fn import_cycle_is_found_through_re_exports_but_not_between_parent_and_child() {
    let source = |name: &str, text: &str| {
        (name.split("::").filter(|part| !part.is_empty()).map(str::to_owned).collect(), text.to_owned())
    };
    let fine = BTreeMap::from([
        source("", "pub use a::A;\n"),
        source("a", "mod b;\nuse self::b::B;\n"),
        source("a::b", "use super::A;\nuse crate::c::C;\n"),
        source("c", "pub struct C;\n"),
    ]);
    assert_eq!(circles(&fine), Vec::<Vec<String>>::new());
    let mut circular = fine;
    circular.extend([source("c", "use crate::{A, other::{self, Other}};\n")]);
    let found = [["a", "c", "a"].map(str::to_owned).to_vec()];
    assert_eq!(circles(&circular), found);
    circular.extend([source("c", "use crate::a;\n")]);
    assert_eq!(circles(&circular), found, "a module is imported as a whole");
}

//! Programs and tests share one build: cargo unites the features of what one command builds.

use std::collections::BTreeSet;

use crate::tree::cargo;

/// Every dependency of these packages with its features.
fn dependencies(of: &[&str]) -> BTreeSet<String> {
    let arguments = [&["tree", "--locked", "--prefix", "none", "--format", "{p} {f}"], of].concat();
    let told = String::from_utf8(cargo(&arguments)).expect("cargo writes UTF-8");
    told.lines().map(|line| line.trim_end_matches(" (*)").to_owned()).collect()
}

#[test]
fn tests_build_no_dependency_of_the_program_anew() {
    let program = dependencies(&["--package", "listen", "--edges", "normal,build"]);
    let all = dependencies(&["--workspace", "--edges", "normal,build,dev"]);
    assert!(program.len() > 100, "the dependencies were found");
    let anew: Vec<&String> = program.difference(&all).collect();
    let all_of_it = all.iter().filter(|one| anew.iter().any(|lacking| is_of_one_package(one, lacking)));
    assert!(
        anew.is_empty(),
        "in Cargo.toml of the program, ask for the features that tests want:\n{anew:#?}\n{:#?}",
        all_of_it.collect::<Vec<_>>()
    );
}

fn is_of_one_package(one: &str, other: &str) -> bool {
    one.split(' ').take(2).eq(other.split(' ').take(2))
}

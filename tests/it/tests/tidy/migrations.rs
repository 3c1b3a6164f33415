//! Migrations hold no table for as long as it is large (`migrations/README.md`).

use std::{collections::BTreeSet, fs};

use crate::tree::{read, root};

/// What a file does that its rule forbids.
fn faults(text: &str) -> Vec<String> {
    let sql: Vec<&str> =
        text.lines().map(|line| line.split_once("--").map_or(line, |(sql, _)| sql)).collect();
    let sql = sql.join(" ").split_whitespace().collect::<Vec<_>>().join(" ");
    let statements: Vec<&str> = sql.split(';').map(str::trim).filter(|sql| !sql.is_empty()).collect();
    let word_after = |sql: &str, words: &str| {
        let (_, rest) = sql.split_once(words)?;
        Some(rest.split([' ', '(']).next().unwrap_or_default().to_owned())
    };
    let own: BTreeSet<String> =
        statements.iter().filter_map(|sql| word_after(sql, "create table ")).collect();
    let is_own = |table: Option<String>| table.is_some_and(|table| own.contains(&table));
    let alone = text.starts_with("-- no-transaction") && statements.len() == 1;
    let mut faults = Vec::new();
    if !alone && statements.first().is_none_or(|sql| !sql.starts_with("set local lock_timeout")) {
        faults.push("it begins without a lock_timeout".to_owned());
    }
    for sql in &statements {
        let makes_index = sql.starts_with("create index") || sql.starts_with("create unique index");
        if makes_index && !is_own(word_after(sql, " on ")) && !(alone && sql.contains(" concurrently ")) {
            faults.push(format!("an index is not made alone and concurrently: {sql}"));
        }
        let checks =
            sql.contains("add constraint") || sql.contains(" check (") || sql.contains(" references ");
        let reads_nothing = sql.ends_with("not valid") || sql.contains(" using index ");
        if sql.starts_with("alter table")
            && checks
            && !is_own(word_after(sql, "alter table "))
            && !reads_nothing
        {
            faults.push(format!("a constraint is checked against every row: {sql}"));
        }
        if sql.contains(" validate constraint ") && statements.iter().any(|sql| sql.ends_with("not valid")) {
            faults.push(format!("a constraint is validated under the lock that added it: {sql}"));
        }
    }
    faults
}

#[test]
fn migrations_take_no_long_table_locks() {
    let files = fs::read_dir(root().join("migrations")).expect("there are migrations");
    let files: Vec<String> =
        files.map(|file| file.expect("it can be read").file_name().to_string_lossy().into_owned()).collect();
    let files: Vec<&String> = files.iter().filter(|file| file.ends_with(".sql")).collect();
    assert!(files.len() >= 7, "they were found");
    for file in files {
        assert_eq!(faults(&read(&format!("migrations/{file}"))), Vec::<String>::new(), "{file}");
    }
}

#[test]
fn long_locking_migration_statements_are_recognized() {
    let limit = "set local lock_timeout = '5s';\n";
    for wrong in [
        "create table t (a text);",
        &format!("{limit}create index i on jobs (a);"),
        &format!("{limit}create index concurrently i on jobs (a);"),
        "-- no-transaction\ncreate index concurrently i on jobs (a);\ncreate index concurrently k on jobs (b);",
        &format!("{limit}alter table jobs add constraint c check (a > 0);"),
        &format!("{limit}alter table jobs add column a text check (a <> '');"),
        &format!(
            "{limit}alter table jobs add constraint c check (a > 0) not valid;\n\
                  alter table jobs validate constraint c;"
        ),
    ] {
        assert!(!faults(wrong).is_empty(), "{wrong}");
    }
    for right in [
        &format!(
            "-- Why.\n{limit}create table t (a text, constraint c check (a <> ''));\ncreate index i on t (a);"
        ),
        "-- no-transaction\n-- Why.\ncreate index concurrently i on jobs (a);",
        &format!("{limit}alter table jobs add constraint c check (a > 0) not valid;"),
        &format!("{limit}alter table jobs validate constraint c;"),
        &format!("{limit}alter table jobs add constraint c unique using index i;"),
        &format!("{limit}alter table jobs add column a text;"),
    ] {
        assert_eq!(faults(right), Vec::<String>::new(), "{right}");
    }
}

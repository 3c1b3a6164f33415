//! Every statement stands in a file of its own, once, and is one that the migrated schema understands.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use testbed::TestDatabase;

use crate::distributed::{Statement, in_files, literals};
use crate::tree::{Source, WITH_SQL, crates, product_of};

/// What is asked of catalogs that are not those of a migrated schema, and who has them.
const ELSEWHERE: [(&str, &str); 4] = [
    ("pipeline/db/sql/shards/note.sql", "a shard's schema"),
    ("pipeline/db/sql/shards/other_node.sql", "Citus"),
    ("pipeline/db/sql/shards/read.sql", "a shard's schema"),
    ("pipeline/db/sql/shards/read_first.sql", "a database that is divided into shards"),
];

#[tokio::test]
async fn statements_prepare_on_the_migrated_schema() {
    let found = in_files();
    for (file, whose) in ELSEWHERE {
        assert!(found.iter().any(|statement| statement.place == file), "{file} asks {whose}");
    }
    let here = found.iter().filter(|found| ELSEWHERE.iter().all(|(file, _)| *file != found.place));
    let database = TestDatabase::new().await;
    let pool = database.pool(1).await;
    let mut refused = Vec::new();
    for (number, Statement { place, sql }) in here.enumerate() {
        let prepare = format!("prepare s{number} as {sql}");
        if let Err(error) = sqlx::raw_sql(sqlx::AssertSqlSafe(prepare)).execute(&pool).await {
            refused.push(format!("{place}: {error}"));
        }
    }
    assert_eq!(refused, Vec::<String>::new());
}

/// The sources of the crates with SQL.
fn sources() -> Vec<Source> {
    let with_sql = crates().into_iter().filter(|krate| WITH_SQL.contains(&krate.name.as_str()));
    with_sql.flat_map(|krate| product_of(&krate)).collect()
}

/// What a statement begins with that reads or changes rows; `begin` and `set` are words to a session.
const VERBS: [&str; 5] = ["select", "with", "insert into", "update", "delete from"];

#[test]
fn statements_are_in_files() {
    let begins = |text: &str| VERBS.iter().any(|verb| text.starts_with(&format!("{verb} ")));
    let mut found = Vec::new();
    for source in sources() {
        let code: String = source.text.split_whitespace().collect();
        let calls = ["query(\"", "query_as(\"", "query_scalar(\""];
        let mut texts = calls.iter().flat_map(|call| code.split(call).skip(1));
        let is_said = texts.any(|text| VERBS.iter().any(|verb| text.starts_with(&verb.replace(' ', ""))));
        // Some statements are put together from what was asked for.
        let is_built = source.text.contains("QueryBuilder") || source.text.contains("AssertSqlSafe");
        let is_held = !is_built && literals(&source.text).iter().any(|text| begins(text));
        found.extend((is_said || is_held).then_some(source.path));
    }
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn every_statement_file_is_used_exactly_once() {
    let mut asked = BTreeSet::new();
    for krate in crates().iter().filter(|krate| WITH_SQL.contains(&krate.name.as_str())) {
        let folder = krate.folder.join("sql");
        for source in product_of(krate) {
            let files = source.text.split('"').filter(|text| text.ends_with(".sql"));
            asked.extend(files.map(|file| folder.join(file)));
        }
    }
    let mut places: BTreeMap<String, String> = BTreeMap::new();
    for Statement { place, sql } in in_files() {
        assert!(asked.remove(Path::new(&place)), "nobody asks {place}");
        if let Some(other) = places.insert(sql, place.clone()) {
            panic!("{place} is {other} again");
        }
    }
    assert_eq!(asked, BTreeSet::new(), "files that no test prepares");
}

#[test]
fn statements_are_not_built_by_macros() {
    let mut found = Vec::new();
    for krate in crates().iter().filter(|krate| WITH_SQL.contains(&krate.name.as_str())) {
        for source in product_of(krate) {
            // The path of a statement's file is put together, in one place.
            if source.text.contains("concat!(") && source.path != "pipeline/db/src/sql.rs" {
                found.push(format!("{}: concat!", source.path));
            }
            let macros = source.text.split("macro_rules! ").skip(1);
            let of_sql = macros.filter(|text| {
                let body = text.split("\n}").next().unwrap_or(text);
                ["select ", "insert into", "update ", "delete from", "returning"]
                    .iter()
                    .any(|word| body.contains(word))
            });
            found.extend(of_sql.map(|text| {
                format!("{}: macro {}", source.path, text.split_whitespace().next().unwrap_or_default())
            }));
        }
    }
    assert_eq!(found, Vec::<String>::new());
}

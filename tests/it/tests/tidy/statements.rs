//! Every statement that stands in a file of its own is one that the migrated schema understands.

use std::{fs, path::Path};

use testbed::TestDatabase;

use crate::tree::{WITH_SQL, crates, product_of, root};

fn statements(folder: &Path, found: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("an entry can be read").path();
        if path.is_dir() {
            if !path.ends_with("target") {
                statements(&path, found);
            }
        } else if path.extension().is_some_and(|kind| kind == "sql") {
            found.push((path.display().to_string(), fs::read_to_string(&path).expect("it can be read")));
        }
    }
}

#[tokio::test]
async fn every_statement_is_understood_by_the_migrated_schema() {
    let mut found = Vec::new();
    statements(&root().join("pipeline"), &mut found);
    assert!(found.len() > 50, "they were found");
    let database = TestDatabase::new().await;
    let pool = database.pool(1).await;
    let mut refused = Vec::new();
    for (number, (path, sql)) in found.iter().enumerate() {
        let prepare = format!("prepare s{number} as {}", sql.trim().trim_end_matches(';'));
        if let Err(error) = sqlx::raw_sql(sqlx::AssertSqlSafe(prepare)).execute(&pool).await {
            refused.push(format!("{path}: {error}"));
        }
    }
    assert_eq!(refused, Vec::<String>::new());
}

#[test]
fn the_statements_of_the_outbox_stand_in_files() {
    let outbox = crates().into_iter().find(|krate| krate.name == "outbox").expect("the crate is there");
    for source in product_of(&outbox) {
        let code: String = source.text.split_whitespace().collect();
        let inline = ["query(\"", "query_as(\"", "query_scalar(\""].iter().any(|call| code.contains(call));
        assert!(!inline, "{} holds a statement", source.path);
    }
}

#[test]
fn no_statement_is_assembled_by_macros() {
    let mut found = Vec::new();
    for krate in crates().iter().filter(|krate| WITH_SQL.contains(&krate.name.as_str())) {
        for source in product_of(krate) {
            if source.text.contains("concat!(") {
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

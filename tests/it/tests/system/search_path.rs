//! A `search_path` that has changed since the tables were made.

use testbed::TestDatabase;

use crate::binary::{ends, printed};

/// The exit code, and what is said.
fn migrated(url: &str) -> (Option<i32>, String) {
    let (code, told, said) = ends(url, &["migrate"]);
    (code, told + &said)
}

#[tokio::test]
async fn migrate_refuses_to_make_tables_beside_those_that_another_search_path_finds() {
    let database = TestDatabase::new().await;
    let url = database.url();
    let with = if url.contains('?') { '&' } else { '?' };
    let path = |path: &str| format!("{url}{with}options=-csearch_path%3D{path}");
    printed(&url, &["users", "create", "--id", "ada"]);
    database.run("create schema elsewhere").await;

    let (code, said) = migrated(&path("elsewhere"));

    assert_eq!(code, Some(4), "{said}");
    assert!(said.contains("tables are in the schema public") && said.contains("elsewhere"), "{said}");
    let (code, said) = migrated(&path("nowhere"));
    assert_eq!(code, Some(4), "{said}");
    assert!(said.contains("tables are in the schema public"), "{said}");
    // Where they are found and nothing is to be made, the path is as good as any.
    assert_eq!(migrated(&path("elsewhere,public")).0, Some(0));
    assert!(printed(&path("elsewhere,public"), &["users", "list"]).contains("ada"));
    // What was added since belongs beside the others.
    database
        .run("delete from _sqlx_migrations where version = (select max(version) from _sqlx_migrations)")
        .await;
    let (code, said) = migrated(&path("elsewhere,public"));
    assert_eq!(code, Some(4), "{said}");
    assert!(said.contains("would be made in elsewhere"), "{said}");
}

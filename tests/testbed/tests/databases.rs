//! The testbed's promises.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::time::Duration;

use sqlx::{AssertSqlSafe, PgPool};
use testbed::TestDatabase;

async fn tables(database: &TestDatabase) -> i64 {
    let query = "SELECT count(*) FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')";
    sqlx::query_scalar(query).fetch_one(&database.pool(1).await).await.unwrap()
}

#[tokio::test]
async fn new_database_has_the_schema_and_an_empty_one_has_none() {
    let (migrated, empty) = (TestDatabase::new().await, TestDatabase::empty().await);
    assert!(tables(&migrated).await > 0);
    assert_eq!(tables(&empty).await, 0);
}

#[tokio::test]
async fn databases_are_isolated() {
    let (one, two) = (TestDatabase::empty().await, TestDatabase::empty().await);
    sqlx::raw_sql("CREATE TABLE only_here ()").execute(&one.pool(1).await).await.unwrap();
    assert_eq!((tables(&one).await, tables(&two).await), (1, 0));
}

#[tokio::test]
async fn database_url_and_options_name_the_same_database() {
    let database = TestDatabase::empty().await;
    let pool = sqlx::PgPool::connect(&database.url()).await.unwrap();
    let name: String = sqlx::query_scalar("SELECT current_database()").fetch_one(&pool).await.unwrap();
    assert_eq!(name, database.name());
}

#[tokio::test]
async fn sixteen_concurrent_tests_get_sixteen_databases() {
    let many: Vec<_> = (0..16).map(|_| tokio::spawn(TestDatabase::new())).collect();
    let mut names = std::collections::BTreeSet::new();
    for one in many {
        names.insert(one.await.unwrap().name().to_owned());
    }
    assert_eq!(names.len(), 16);
}

#[tokio::test]
async fn database_is_dropped_with_an_open_pool() {
    let (stays, goes) = (TestDatabase::empty().await, TestDatabase::empty().await);
    let (name, _still_open) = (goes.name().to_owned(), goes.pool(2).await);
    drop(goes);
    until_gone(&stays.pool(1).await, &name).await;
}

#[tokio::test]
async fn database_of_a_killed_process_is_dropped_by_the_next() {
    // A name with a number that no process can have, and so without an owner.
    let (stays, left) = (TestDatabase::empty().await, format!("t_2{:09}_1", std::process::id()));
    let pool = stays.pool(1).await;
    sqlx::raw_sql(AssertSqlSafe(format!("CREATE DATABASE {left}"))).execute(&pool).await.unwrap();
    another_process();
    // Where many processes start at once, it may be another one that is about to drop it.
    until_gone(&pool, &left).await;
    assert!(exists(&pool, stays.name()).await, "this process is there, and so must be its database");
}

/// A drop waits for a checkpoint: on a busy machine it may take longer than a test's end waits for it.
async fn until_gone(pool: &PgPool, name: &str) {
    let gone = async { while exists(pool, name).await {} };
    tokio::time::timeout(Duration::from_secs(60), gone).await.unwrap();
}

async fn exists(pool: &PgPool, name: &str) -> bool {
    let query = sqlx::query_scalar("SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)").bind(name);
    query.fetch_one(pool).await.unwrap()
}

/// Runs another test of this file in a process of its own.
fn another_process() {
    let program = std::env::current_exe().unwrap();
    let mut command = std::process::Command::new(program);
    let ended = command.args(["--exact", "databases_are_isolated"]).output().unwrap();
    assert!(ended.status.success());
}

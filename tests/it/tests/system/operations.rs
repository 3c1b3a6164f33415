//! What operators look at.

use reqwest::StatusCode;
use testbed::TestDatabase;

use crate::binary;
use crate::client::page;
use crate::process::Process;

/// Nobody listens on port 1.
const NOWHERE: &str = "postgresql://nobody@127.0.0.1:1/nothing";

#[tokio::test]
async fn readiness_tells_the_database() {
    let database = TestDatabase::empty().await;
    let process = Process::serve(&database.url(), &[]).await;
    let ready = format!("{}/readyz", process.admin);
    let (without, words) = page(&ready).await;
    assert_eq!(without, StatusCode::SERVICE_UNAVAILABLE, "without a schema");
    assert!(
        words.contains("listen migrate"),
        "the database answers, it is the schema that is missing: {words}"
    );

    binary::told(&database.url(), &["migrate"]);

    assert_eq!(page(&ready).await, (StatusCode::OK, "ready\n".to_owned()));
}

#[tokio::test]
async fn a_process_without_its_database_lives_and_is_not_ready() {
    let process = Process::serve(NOWHERE, &[]).await;

    let (alive, _) = page(&format!("{}/livez", process.admin)).await;
    let (ready, words) = page(&format!("{}/readyz", process.admin)).await;

    assert_eq!(alive, StatusCode::OK);
    assert_eq!((ready, words.as_str()), (StatusCode::SERVICE_UNAVAILABLE, "the database does not answer\n"));
}

//! Readiness and start-up failures.

use reqwest::StatusCode;
use sqlx::ConnectOptions;
use testbed::TestDatabase;

use crate::binary;
use crate::client::page;
use crate::process::{Process, until};

/// No server listens on port 1.
const NOWHERE: &str = "postgresql://nobody@127.0.0.1:1/nothing";

#[tokio::test]
async fn readiness_follows_the_database() {
    let database = TestDatabase::empty().await;
    let mut process = Process::serve(&database.url(), &[]).await;
    let unready = "the schema lacks migrations: run `listen migrate`; until then nothing is processed";
    process.line(unready, |line| line["level"] == "ERROR" && line["missing"].as_u64() > Some(1)).await;
    let ready = format!("{}/readyz", process.admin);
    let (without, words) = page(&ready).await;
    assert_eq!(without, StatusCode::SERVICE_UNAVAILABLE, "without a schema");
    assert!(
        words.contains("listen migrate"),
        "the database answers, it is the schema that is missing: {words}"
    );

    binary::printed(&database.url(), &["migrate"]);

    // The worker is started within a second.
    until(|| async { page(&ready).await.0 == StatusCode::OK }).await;
    assert_eq!(page(&ready).await, (StatusCode::OK, "ready\n".to_owned()));
}

/// A rolling update with the address of a standby stops at its first process; a failover takes no reads away.
#[tokio::test]
async fn process_is_not_ready_until_its_database_accepts_writes_once() {
    let database = TestDatabase::new().await;
    let name = database.name();
    let accept_writes = async |accepts: bool| {
        let refuses = if accepts { "off" } else { "on" };
        let change = format!(
            "begin read write; alter database {name} set default_transaction_read_only = {refuses}; commit; \
             select pg_terminate_backend(pid, 5000) from pg_stat_activity \
             where datname = current_database() and pid <> pg_backend_pid()"
        );
        database.run(&change).await;
    };
    accept_writes(false).await;
    let process = Process::serve(&database.url(), &[]).await;
    let ready = format!("{}/readyz", process.admin);
    let answers = async |status: StatusCode, words: &str| page(&ready).await == (status, words.to_owned());
    let refuses_writes = "the database accepts no writes\n";

    until(|| answers(StatusCode::SERVICE_UNAVAILABLE, refuses_writes)).await;
    accept_writes(true).await;
    until(|| answers(StatusCode::OK, "ready\n")).await;
    accept_writes(false).await;
    until(|| answers(StatusCode::OK, "ready\n")).await;
    let verbose = page(&format!("{ready}?verbose")).await;
    assert_eq!(verbose.0, StatusCode::OK, "{}", verbose.1);
}

#[tokio::test]
async fn bind_failure_names_the_address_and_changes_nothing() {
    let database = TestDatabase::new().await;
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let addr = taken.local_addr().expect("it has an address").to_string();

    let refused =
        binary::command(&database.url(), &["serve", "--addr", "127.0.0.1:0", "--admin-addr", &addr]);

    let said = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(1), "{said}");
    assert!(said.contains("(LISTEN_ADMIN_ADDR)") && said.contains("--admin-addr"), "{said}");
    let seen = binary::printed(&database.url(), &["jobs", "watch", "--looks", "1", "--json"]);
    assert!(seen.contains("\"living_processes\":0"), "nobody was announced: {seen}");
}

#[tokio::test]
async fn process_without_a_database_is_live_and_not_ready() {
    let process = Process::serve(NOWHERE, &[]).await;

    let (alive, _) = page(&format!("{}/livez", process.admin)).await;
    let (ready, words) = page(&format!("{}/readyz", process.admin)).await;

    assert_eq!(alive, StatusCode::OK);
    assert_eq!((ready, words.as_str()), (StatusCode::SERVICE_UNAVAILABLE, "the database does not answer\n"));
}

/// "It does not answer" would send its operator to the network.
#[tokio::test]
async fn readiness_says_that_the_database_refuses_the_login() {
    let database = TestDatabase::new().await;
    let gone = database.options().database("not_there").to_url_lossy().to_string();
    let nobody = database.options().username("not_a_role").to_url_lossy().to_string();
    for (url, why) in
        [(gone, "the server has no such database\n"), (nobody, "the database does not let this user in\n")]
    {
        let process = Process::serve(&url, &[]).await;
        let ready = page(&format!("{}/readyz", process.admin)).await;
        assert_eq!(ready, (StatusCode::SERVICE_UNAVAILABLE, why.to_owned()));
    }
}

/// One that only the gauges read: ListenCollectorDown comes, and its runbook begins with this command.
#[tokio::test]
async fn doctor_names_a_view_that_the_gauges_are_refused() {
    let database = TestDatabase::new().await;
    let role = format!("{}_plain", database.name());
    let plain = format!("create role {role} login; grant select on all tables in schema public to {role}");
    database.run(&plain).await;
    let url = database.options().username(&role).to_url_lossy().to_string();
    let before = binary::command(&url, &["doctor"]);

    database.run("revoke select on pg_stat_database from public").await;
    let refused = binary::command(&url, &["doctor"]);

    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(said.contains("permission denied for view pg_stat_database"), "{said}");
    assert!(said.contains("given back by `grant select`"), "{said}");
    assert_eq!(refused.status.code(), Some(1), "{said}");
    assert!(before.stderr.is_empty(), "the role sees the others");
    database.run(&format!("drop owned by {role}; drop role {role}")).await;
}

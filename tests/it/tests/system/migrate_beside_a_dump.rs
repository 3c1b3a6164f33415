//! `listen migrate` while a dump holds the tables: it waits, and no request waits behind it.

use std::process::Stdio;

use testbed::TestDatabase;
use tokio::io::{AsyncBufReadExt, BufReader};

use crate::binary;

/// As before the migration that adds a column to a table, which takes it from its readers, too.
const BEFORE: &str = "alter table memories drop column words; alter table action_items drop column words; \
     delete from _sqlx_migrations where version = 20261128050500";

/// More than a request waits for would end the statement.
const REQUEST: &str = "set lock_timeout = '2s'; select count(*) from memories";

#[tokio::test]
async fn migration_that_waits_for_a_dump_does_not_hold_up_requests() {
    let database = TestDatabase::new().await;
    database.run(BEFORE).await;
    let dump = database.hold_locks("lock table memories in access share mode").await;
    let mut command = tokio::process::Command::new(binary::path());
    command.arg("migrate").env("DATABASE_URL", database.url()).stdout(Stdio::null()).kill_on_drop(true);
    let mut migrate = command.stderr(Stdio::piped()).spawn().expect("the program can be run");
    for _ in 0..3 {
        database.until_somebody_waits().await;
        database.run(REQUEST).await;
    }
    let mut said = BufReader::new(migrate.stderr.take().expect("it is piped")).lines();
    let line = said.next_line().await.expect("it is text").expect("it says that it waits");
    assert!(line.contains("it asks again and again"), "{line}");

    drop(dump);

    let ended = migrate.wait().await.expect("its end can be waited for");
    assert!(ended.success(), "{ended}");
}

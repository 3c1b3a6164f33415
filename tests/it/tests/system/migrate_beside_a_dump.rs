//! `listen migrate` while a dump holds the tables, an autovacuum or a request: it waits, and no request waits behind it.

use std::process::Stdio;
use std::time::Duration;

use testbed::TestDatabase;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::binary;

/// As before the migration that adds a column to a table, which takes it from its readers, too.
const BEFORE: &str = "alter table memories drop column words; alter table action_items drop column words; \
     delete from _sqlx_migrations where version = 20261128050500";

fn migrate(database: &TestDatabase) -> Child {
    let mut command = Command::new(binary::path());
    command.arg("migrate").env("DATABASE_URL", database.url()).stdout(Stdio::null()).kill_on_drop(true);
    command.stderr(Stdio::piped()).spawn().expect("the program can be run")
}

/// More than a request waits for would end the statement.
const REQUEST: &str = "set lock_timeout = '2s'; select count(*) from memories";

#[tokio::test]
async fn migration_that_waits_for_a_dump_does_not_hold_up_requests() {
    let database = TestDatabase::new().await;
    database.run(BEFORE).await;
    let dump = database.hold_locks("lock table memories in access share mode").await;
    let mut migrate = migrate(&database);
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

/// How many sessions have waited for a lock for as long as the server waits until it cancels an autovacuum that holds it.
const LONG_WAITS: &str = "select count(*) from pg_locks where not granted and clock_timestamp() - waitstart > interval '1 second' \
     and database = (select oid from pg_database where datname = current_database())";

/// How many have waited for longer than they usually do, and may not have waited yet for as long as the server waits until it looks for
/// deadlocks.
const LONGER_WAITS: &str = "select count(*) from pg_locks where not granted and clock_timestamp() - waitstart > interval '0.4 seconds' \
     and database = (select oid from pg_database where datname = current_database())";

/// Until `waits` counts one.
async fn until_one(database: &TestDatabase, waits: &'static str) {
    let pool = database.pool(1).await;
    let waited = async {
        while sqlx::query_scalar::<_, i64>(waits).fetch_one(&pool).await.expect("it is a number") == 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), waited).await.expect("it waits for longer now and then");
}

/// An autovacuum of a large table would keep it from a migration for hours.
#[tokio::test]
async fn migration_waits_long_enough_for_an_autovacuum_to_be_cancelled() {
    let database = TestDatabase::new().await;
    database.run(BEFORE).await;
    let vacuum = database.hold_locks("lock table memories in share update exclusive mode").await;
    let mut migrate = migrate(&database);
    until_one(&database, LONG_WAITS).await;

    drop(vacuum);

    let ended = migrate.wait().await.expect("its end can be waited for");
    assert!(ended.success(), "{ended}");
}

/// The migration has one of its tables and waits for the other; the request has the other and waits for the one.
#[tokio::test]
async fn migration_that_the_server_ends_for_a_deadlock_is_tried_again() {
    let database = TestDatabase::new().await;
    database.run(BEFORE).await;
    let mut request = database.hold_locks("lock table action_items in access share mode").await;
    let mut migrate = migrate(&database);
    until_one(&database, LONGER_WAITS).await;

    let locked = sqlx::raw_sql("lock table memories in access share mode").execute(&mut request).await;

    locked.expect("it is the migration that gives way");
    drop(request);
    let ended = migrate.wait().await.expect("its end can be waited for");
    assert!(ended.success(), "{ended}");
}

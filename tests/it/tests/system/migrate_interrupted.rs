//! `listen migrate` that is ended while it makes an index, as a rollout is that takes too long: run again, it goes on.

use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use testbed::TestDatabase;
use tokio::io::{AsyncBufReadExt, BufReader};

use crate::binary;

/// As before the migration that makes the index.
const BEFORE: &str =
    "drop index webhook_deliveries_next; delete from _sqlx_migrations where version = 20261129180003";

/// As a dump sees one moment for hours.
const DUMP: &str =
    "set transaction isolation level repeatable read; set application_name = 'a dump'; select 1";

/// The server ends the session that makes the index.
const END: &str = "select pg_terminate_backend(pid) from pg_stat_activity \
     where datname = current_database() and query like '%create index concurrently%' and pid <> pg_backend_pid()";

#[tokio::test]
async fn interrupted_migration_is_finished_when_it_is_run_again() {
    let database = TestDatabase::new().await;
    database.run(BEFORE).await;
    // A DBA's bounds are for requests: an index of a large table takes longer.
    let url = database.url();
    let more = if url.contains('?') { '&' } else { '?' };
    let url = format!("{url}{more}options=-c%20statement_timeout%3D1000");
    for is_killed in [false, true] {
        let dump = database.hold_locks(DUMP).await;
        let mut command = tokio::process::Command::new(binary::path());
        command.arg("migrate").env("DATABASE_URL", &url).stdout(Stdio::null()).kill_on_drop(true);
        let mut migrate = command.stderr(Stdio::piped()).spawn().expect("the program can be run");
        let mut said = BufReader::new(migrate.stderr.take().expect("it is piped")).lines();
        // It says whom it waits for; nothing else would.
        loop {
            let line = said.next_line().await.expect("it is text").expect("it waits");
            if line.contains("until the transactions of other sessions end") && line.contains("a dump") {
                break;
            }
        }

        match is_killed {
            // The server goes on, and finishes an index whose migration is not recorded.
            true => {
                let id = migrate.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
                kill_process(id.expect("it runs"), Signal::KILL).expect("a child can be signalled");
            }
            false => database.run(END).await,
        }
        let ended = migrate.wait().await.expect("its end can be waited for");
        assert!(!ended.success(), "{ended}");
        drop(dump);

        let printed = binary::printed(&url, &["migrate"]);
        assert_eq!(printed, "1 migration applied; the schema is up to date");
        let pool = database.pool(1).await;
        let is_valid =
            "select indisvalid from pg_index where indexrelid = 'webhook_deliveries_next'::regclass";
        assert!(sqlx::query_scalar::<_, bool>(is_valid).fetch_one(&pool).await.expect("the index is there"));
        database.run(BEFORE).await;
    }
}

//! What an examination finds in the server itself. Bad server states are simulated by views that come before the
//! catalogue's own in the search path.

use job::Queue;
use ledger::{Ledger, OperatorAction, Settings};
use operations::{OldTransaction, Operations};

use crate::world::World;

/// The catalogue of a server with problems, each with a harmless row beside it.
const SIMULATED: &str = "create schema simulated; \
    create view simulated.pg_extension as select extname::name from \
        unnest(array['plpgsql', 'pg_trgm', 'hstore']) extname; \
    create view simulated.pg_settings as select * from (values ('synchronous_commit', 'off'), ('fsync', 'off'), \
        ('full_page_writes', 'on'), ('jit', 'off')) s (name, setting); \
    create view simulated.pg_prepared_xacts as select gid, statement_timestamp() - seconds * interval '1 second' as prepared \
        from (values ('old', 61), ('young', 30)) p (gid, seconds); \
    create view simulated.pg_replication_slots as select slot_name, active, xmin::text::xid as xmin, \
            catalog_xmin::text::xid as catalog_xmin \
        from (values ('left', false, 7, null), ('left_logical', false, null, 7), ('used', true, 7, 7), \
            ('harmless', false, null, null)) s (slot_name, active, xmin, catalog_xmin); \
    create view simulated.pg_locks as select 'relation' as locktype, pid, mode, granted, d.oid as database, \
            'simulated.pg_extension'::regclass::oid as relation \
        from pg_database d, (values (1, 'AccessShareLock', true), (2, 'AccessExclusiveLock', false), (5, 'AccessExclusiveLock', true), \
            (8, 'ShareLock', true)) l (pid, mode, granted) \
        where d.datname = current_database(); \
    create view simulated.pg_stat_activity as select pid, application_name, state, backend_type, \
            statement_timestamp() - seconds * interval '1 second' as xact_start, \
            wait_event_type, statement_timestamp() - waits * interval '1 second' as state_change \
        from (values (1, 'psql', 'idle in transaction', 'client backend', 100, null, 90), \
            (2, 'report', 'active', 'client backend', 3600, 'Lock', 6), \
            (3, 'listen', 'active', 'client backend', 59, 'Lock', 4), \
            (4, 'listen', 'idle', 'client backend', null, 'Client', 900), \
            (5, '', null, 'autovacuum worker', 900, null, null), \
            (6, 'copy', 'active', 'walsender', 900, null, null), \
            (7, 'listen', null, 'parallel worker', 61, null, null)) \
            a (pid, application_name, state, backend_type, seconds, wait_event_type, waits)";

#[tokio::test]
async fn examine_finds_unsafe_settings_and_what_holds_vacuum_back() {
    let world = World::new().await;
    world.run(SIMULATED).await;
    let options = world.database.options().options([("search_path", "simulated,pg_catalog,public")]);
    let ledger = Ledger::new(options, Settings::default());
    let found = Operations::new(&ledger).examine().await.unwrap();
    assert_eq!(found.extensions, ["hstore", "pg_trgm"]);
    assert_eq!(found.unsafe_settings, ["fsync = off", "synchronous_commit = off"]);
    let mut holding_back = found.holding_back;
    holding_back.sort();
    assert_eq!(
        holding_back,
        ["prepared transaction old", "replication slot left", "replication slot left_logical"]
    );
    assert_eq!((found.connections.0, found.waiting_for_locks), (4, 1));
    let named = |OldTransaction { pid, application, state, .. }: &OldTransaction| {
        (*pid, application.clone(), state.clone())
    };
    assert_eq!(
        found.locking.iter().map(named).collect::<Vec<_>>(),
        [(2, "report".to_owned(), "active".to_owned())],
        "who waits makes readers wait, who reads or writes does not, and autovacuum gives way"
    );
    let shown: Vec<(i32, &str, &str)> = found
        .old_transactions
        .iter()
        .map(|OldTransaction { pid, application, state, .. }| (*pid, application.as_str(), state.as_str()))
        .collect();
    let (oldest, old, young) =
        ((2, "report", "active"), (1, "psql", "idle in transaction"), (7, "listen", "parallel worker"));
    assert_eq!(shown, [oldest, old, young], "oldest first");
    let seconds = found.old_transactions[1].seconds;
    assert!((100.0..160.0).contains(&seconds), "{seconds}");
}

/// A plain role may not read other roles' sessions in `pg_stat_activity`.
#[tokio::test]
async fn examine_reports_a_role_that_cannot_see_other_transactions() {
    let world = World::new().await;
    let role = format!("plain_of_{}", world.database.name());
    world
        .database
        .run(&format!("create role {role}; grant select on all tables in schema public to {role}"))
        .await;
    let options = || world.database.options().options([("role", role.as_str())]);
    let blind = async || {
        let ledger = Ledger::new(options(), Settings::default());
        Operations::new(&ledger).examine().await.unwrap().blind_role
    };
    assert_eq!(blind().await, Some(role.clone()));
    world.database.run(&format!("grant pg_read_all_stats to {role}")).await;
    assert_eq!(blind().await, None);
    world.database.run(&format!("drop owned by {role}; drop role {role}")).await;
}

#[tokio::test]
async fn pauses_list_operator_and_reason() {
    let world = World::new().await;
    assert_eq!(world.operations().pauses().await.unwrap(), []);
    for (queue, operator) in [(Queue::Finalization, "olga"), (Queue::Creation, "otto")] {
        let action = OperatorAction::new(operator, format!("{operator} looks"));
        assert!(world.operations().pause(queue, &action).await.unwrap());
    }
    let pauses = world.operations().pauses().await.unwrap();
    let shown: Vec<_> = pauses.iter().map(|pause| (pause.queue.as_str(), pause.reason.as_str())).collect();
    assert_eq!(shown, [("creation", "otto looks"), ("finalization", "olga looks")]);
    assert_eq!(pauses[0].operator, "otto");
}

/// Temporary files go where the tables are: there is no room for one more.
const FULL: &str = "create schema simulated; \
    create function simulated.generate_series(integer, integer) returns setof integer language plpgsql as \
        $$begin raise exception 'No space left on device' using errcode = '53100'; end$$";

#[tokio::test]
async fn examine_finds_a_full_disk_of_a_server_that_accepts_writes() {
    let world = World::new().await;
    let full = async |path: &'static str| {
        let options = world.database.options().options([("search_path", path)]);
        let found = Operations::new(&Ledger::new(options, Settings::default())).examine().await.unwrap();
        (found.writes, found.disk_is_full)
    };
    assert_eq!(full("public").await, (true, false));
    world.run(FULL).await;
    assert_eq!(full("simulated,pg_catalog,public").await, (true, true));
}

-- The database as monitoring sees it: its oldest transaction and snapshot, and what it has done since it began.
select current_setting('max_connections')::bigint as sessions_allowed,
       greatest(extract(epoch from $1 - least(
           (select min(xact_start) from pg_stat_activity
            where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()),
           (select min(prepared) from pg_prepared_xacts
            where database = current_database()))), 0)::float8 as oldest_transaction_age,
       coalesce(greatest(
           (select max(age(backend_xmin)) from pg_stat_activity
            where pid <> pg_backend_pid() and (datname = current_database() or backend_type = 'walsender')),
           (select max(age(xmin)) from pg_replication_slots),
           (select max(age(transaction)) from pg_prepared_xacts
            where database = current_database())), 0)::bigint as oldest_snapshot_age,
       -- A standby writes none, and refuses to say how much.
       pg_wal_lsn_diff(case when pg_is_in_recovery() then pg_last_wal_replay_lsn() else pg_current_wal_insert_lsn() end,
           '0/0')::float8 as wal_bytes,
       xact_commit as commits, xact_rollback as rollbacks, blks_hit as blocks_cached, blks_read as blocks_read, deadlocks,
       pg_database_size(datid) as bytes, pg_postmaster_start_time() as started_at, current_database()::text as name
from pg_stat_database
where datname = current_database()

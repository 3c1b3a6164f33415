-- The timeline that the server writes: each promotion raises it.
select ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::bigint

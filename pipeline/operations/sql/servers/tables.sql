-- Live and dead rows of each table, and when it was vacuumed.
select relname::text as name, n_live_tup as live, n_dead_tup as dead,
       extract(epoch from $1 - greatest(last_vacuum, last_autovacuum))::float8 as vacuumed_ago
from pg_stat_user_tables
where schemaname = current_schema()
  and relname = any ($2)
order by relname

select pid, application_name as application, coalesce(state, backend_type) as state,
    extract(epoch from clock_timestamp() - xact_start)::float8 as seconds
from pg_stat_activity
where xact_start < statement_timestamp() - interval '1 minute'
  and backend_type not in ('autovacuum worker', 'walsender')
order by xact_start
limit 10

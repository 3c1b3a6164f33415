-- Sessions that keep a table of ours from being read, in transactions older than five seconds, the longest first. Who waits for such a lock
-- does it, too: every later reader waits behind it. One whose beginning our role may not see counts at once. Autovacuum gives way by itself.
select l.pid, coalesce(a.application_name, '') as application, coalesce(a.state, a.backend_type, 'unknown') as state,
    coalesce(extract(epoch from clock_timestamp() - a.xact_start), 0)::float8 as seconds
from (
    select distinct pid
    from pg_locks
    where locktype = 'relation'
      and mode = 'AccessExclusiveLock'
      and pid is not null
      and database = (select oid from pg_database where datname = current_database())
      and relation in (
          select c.oid
          from pg_class c
          join pg_namespace n on n.oid = c.relnamespace
          where n.nspname = current_schema()
      )
) l
left join pg_stat_activity a using (pid)
where coalesce(a.xact_start < statement_timestamp() - interval '5 seconds', true)
  and a.backend_type is distinct from 'autovacuum worker'
order by seconds desc
limit 10

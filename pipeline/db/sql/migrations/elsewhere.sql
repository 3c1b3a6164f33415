-- The schema that holds the tables, where it is not the one in which the session would make new ones; and that one.
select n.nspname::text, current_schema()::text
from pg_class c
join pg_namespace n on n.oid = c.relnamespace
where c.relname = '_sqlx_migrations'
  and exists (select from pg_class j where j.relnamespace = n.oid and j.relname = 'finalization_jobs')
  and not exists (
      select from pg_class o
      join pg_namespace own on own.oid = o.relnamespace and own.nspname = current_schema()
      where o.relname = '_sqlx_migrations')
order by 1
limit 1

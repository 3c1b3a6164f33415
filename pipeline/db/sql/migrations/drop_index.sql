-- The statement that drops an index of this name in the session's schema; no row where the schema has no such index. Other schemas are not touched.
select format('drop index concurrently %I.%I', n.nspname, c.relname)
from pg_class c
join pg_namespace n on n.oid = c.relnamespace and n.nspname = current_schema()
where c.relkind = 'i' and c.relname = $1

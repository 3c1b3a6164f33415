-- How an index is dropped, where the session's schema has it: one of that name in another schema is somebody else's.
select format('drop index concurrently %I.%I', n.nspname, c.relname)
from pg_class c
join pg_namespace n on n.oid = c.relnamespace and n.nspname = current_schema()
where c.relkind = 'i' and c.relname = $1

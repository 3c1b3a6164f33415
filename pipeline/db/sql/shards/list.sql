select n.nspname::text
from pg_namespace n
join pg_class c on c.relnamespace = n.oid
where c.relname = 'listen_shard' and n.nspname ~ '^listen_[0-9]{4}$'
order by 1

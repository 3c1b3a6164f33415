select count(*), current_setting('max_connections')::bigint
from pg_stat_activity
where backend_type = 'client backend'

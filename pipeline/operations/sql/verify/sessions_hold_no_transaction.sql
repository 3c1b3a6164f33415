select 'session ' || pid || ' is ' || state || ' since ' || xact_start
from pg_stat_activity
where datname = current_database()
  and state like 'idle in transaction%'
  and application_name = current_setting('application_name')
  and pid <> pg_backend_pid()
  and xact_start < statement_timestamp() - interval '6 seconds'

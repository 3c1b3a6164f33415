select count(*)
from pg_stat_activity
where wait_event_type = 'Lock'
  and state_change < statement_timestamp() - interval '5 seconds'

select relname::text, n_dead_tup::float8 / greatest(n_live_tup, 1)
from pg_stat_user_tables
where relname in ('finalization_jobs', 'finalization_totals', 'webhook_deliveries', 'conversations')
  and n_dead_tup > 10000
  and n_dead_tup > n_live_tup
order by relname
